"""Conversions between all types. Integers keep their low bits, floats round to nearest even: one right value each."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import Array, bits, empty, of
from support.case import Case, Exact, Same
from support.language import jit, tl
from support.objects import ARCHS

COUNT = 512


@jit
def to_integers(source, i8, i16, i32, i64, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(source + at)
    tl.store(i8 + at, x.to(i8.dtype.element_ty))
    tl.store(i16 + at, x.to(i16.dtype.element_ty))
    tl.store(i32 + at, x.to(i32.dtype.element_ty))
    tl.store(i64 + at, x.to(i64.dtype.element_ty))


@jit
def to_floats(source, f16, bf16, f32, f64, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(source + at)
    tl.store(f16 + at, x.to(tl.float16))
    tl.store(bf16 + at, x.to(tl.bfloat16))
    tl.store(f32 + at, x.to(tl.float32))
    tl.store(f64 + at, x.to(tl.float64))


@jit
def eight_to_floats(source, f16, f32, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(source + at)
    tl.store(f16 + at, x.to(tl.float16))
    tl.store(f32 + at, x.to(tl.float32))


@jit
def convert(source, target, ROUNDING: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(target + at, tl.load(source + at).to(target.dtype.element_ty, fp_downcast_rounding=ROUNDING))


@jit
def reinterpret(source, target, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(target + at, tl.load(source + at).to(target.dtype.element_ty, bitcast=True))


@jit
def add_one_as_f32(source, target, N: tl.constexpr):
    """A conversion, a sum and a conversion back, which targets with mixed instructions join."""
    at = tl.arange(0, N)
    x = tl.load(source + at).to(tl.float16).to(tl.float32)
    tl.store(target + at, x + 1.0)


def integer_names(sign):
    return [f"{sign}{n}" for n in (8, 16, 32, 64)]


def integers_to_integers():
    for format in formats.integers:
        source = bits(format, COUNT, 1)
        for sign in "iu":
            targets = [getattr(formats, name) for name in integer_names(sign)]
            arrays = dict(zip(("i8", "i16", "i32", "i64"), (empty(t, COUNT) for t in targets), strict=True))
            yield Case(
                f"to_integers.{format.name}.{sign}",
                to_integers,
                (1,),
                {"source": source} | arrays,
                lambda s=source, ts=targets, a=arrays: dict(
                    zip(a, (Exact(s.raw.astype(t.storage)) for t in ts), strict=True)
                ),
                {"N": COUNT},
            )


def floats_to_integers():
    """Towards zero. A value that the integer does not have gives anything, so that there are none."""
    for format in formats.floats:
        for sign, low, high in (("i", -127.9, 127.9), ("u", 0, 255.9)):
            values = np.random.default_rng(2).uniform(low, high, COUNT)
            values[:8] = [0, 0.5, 0.999, 1, 1.5, 2.5, 100, 127]
            source = of(format, np.clip(format.decode(format.encode(values)), low, high))
            inside = (source.values > -129 if sign == "i" else source.values >= 0) & (
                source.values < (128, 256)[sign == "u"]
            )
            source.raw[~inside] = 0
            targets = [getattr(formats, name) for name in integer_names(sign)]
            arrays = dict(zip(("i8", "i16", "i32", "i64"), (empty(t, COUNT) for t in targets), strict=True))

            def expected(source=source, targets=targets, arrays=arrays):
                whole = np.trunc(source.values).astype(np.int64)
                return {name: Exact(whole.astype(t.storage)) for name, t in zip(arrays, targets, strict=True)}

            yield Case(
                f"to_integers.{format.name}.{sign}",
                to_integers,
                (1,),
                {"source": source} | arrays,
                expected,
                {"N": COUNT},
            )


def large_floats_to_integers():
    for source_format in (formats.f32, formats.f64):
        for target in (formats.i32, formats.u32, formats.i64, formats.u64):
            limit = 2.0 ** (target.bits - 1) * (1.99 if target in formats.unsigned else 0.99)
            values = np.random.default_rng(3).uniform(-limit if target in formats.signed else 0, limit, COUNT)
            source = of(source_format, values * 2.0 ** -np.random.default_rng(4).integers(0, target.bits, COUNT))
            exact = np.array([int(v) for v in source.values], dtype=object).astype(target.storage)
            yield Case(
                f"convert.{source_format.name}.{target.name}",
                convert,
                (1,),
                {"source": source, "target": empty(target, COUNT)},
                lambda e=exact: {"target": Exact(e)},
                {"ROUNDING": None, "N": COUNT},
            )


@np.vectorize
def sticky(number):
    """A double that rounds to narrower formats as the integer does: its last bit stands for all that it lacks."""
    size = abs(int(number))
    shift = max(size.bit_length() - 53, 0)
    kept = (size >> shift | (size & ((1 << shift) - 1) != 0)) << shift
    return float(kept if number >= 0 else -kept)


def to_all_floats():
    for format in formats.integers + formats.floats + formats.eights:
        source = bits(format, COUNT, 5)
        if format.bits > 8:  # small values too
            low = 0 if format in formats.unsigned else -99
            source.raw[COUNT // 2 :] = format.encode(np.random.default_rng(6).integers(low, 99, COUNT // 2) / 1)
        targets = (formats.f16, formats.f32) if format in formats.eights else formats.floats

        def expected(source=source, format=format, targets=targets):
            with np.errstate(all="ignore"):
                values = {f: source.values if format.is_float else sticky(source.raw.astype(object)) for f in targets}
                if not format.is_float:
                    values[formats.f64] = source.raw.astype(np.float64)
                return {f.name: Same(f.decode(f.encode(v))) for f, v in values.items()}

        arrays = {f.name: empty(f, COUNT) for f in targets}
        kernel = eight_to_floats if format in formats.eights else to_floats
        yield Case(f"to_floats.{format.name}", kernel, (1,), {"source": source} | arrays, expected, {"N": COUNT})


def around(format):
    """All values of a format between 0 and 16, the middles between them, and numbers close to those; both signs."""
    values = np.unique(np.abs(format.decode(np.arange(256, dtype=np.uint8))))
    values = values[np.isfinite(values) & (values <= 16)]
    middles = (values[1:] + values[:-1]) / 2
    close = np.concatenate([values, middles, middles * (1 + 2**-9), middles * (1 - 2**-9)])
    return np.concatenate([close, -close])


def to_eights():
    for source_format in (formats.f16, formats.bf16, formats.f32):
        for target in formats.eights:
            values = around(target)
            source = of(source_format, values[np.arange(1024) % len(values)])
            raw = target.encode(source.values)
            yield Case(
                f"convert.{source_format.name}.{target.name}",
                convert,
                (1,),
                {"source": source, "target": empty(target, 1024)},
                lambda r=raw: {"target": Exact(r)},
                {"ROUNDING": None, "N": 1024},
            )


def toward_zero_to_eights():
    for source_format, target in (
        (formats.f16, formats.e5m2),
        (formats.f32, formats.e5m2),
        (formats.f16, formats.e5m2fnuz),
    ):
        values = around(target)
        source = of(source_format, values[np.arange(1024) % len(values)])
        raw = target.encode(source.values, toward_zero=True)
        mistakes = dict.fromkeys(ARCHS, "it drops the low byte, as is right only for e5m2, whose bias is f16's")
        yield Case(
            f"convert.{source_format.name}.{target.name}.rtz",
            convert,
            (1,),
            {"source": source, "target": empty(target, 1024)},
            lambda r=raw: {"target": Exact(r)},
            {"ROUNDING": "rtz", "N": 1024},
            left_out=mistakes if target is formats.e5m2fnuz else {},
        )


def eights_to_bf16():
    """All numbers. Where the target lacks the conversion, Triton's own does not keep infinities and NaNs."""
    for format in formats.eights:
        source = Array(format, np.arange(256, dtype=np.uint8))
        source.raw[~np.isfinite(source.values)] = 0
        yield Case(
            f"convert.{format.name}.bf16",
            convert,
            (1,),
            {"source": source, "target": empty(formats.bf16, 256)},
            lambda s=source: {"target": Exact(formats.bf16.encode(s.values))},
            {"ROUNDING": None, "N": 256},
        )


def unsupported():
    """What the compiler takes on no architecture."""
    llvm = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "e4m3fnuz": "f8E4M3FNUZ", "e5m2fnuz": "f8E5M2FNUZ"}
    for format in formats.eights:
        refused = {
            (
                formats.f64,
                format,
                None,
            ): f"Unsupported conversion from 'f64' to '{llvm[format.name]}' with rounding mode rtne",
            (format, formats.f64, None): f"Unsupported conversion from '{llvm[format.name]}' to 'f64'",
            (format, formats.i32, None): f"cannot cast {format.triton}",
        }
        if format is not formats.e5m2:
            refused[formats.f32, format, "rtz"] = "PassManager::run failed"
        for (source, target, rounding), reason in refused.items():
            yield Case(
                f"convert.{source.name}.{target.name}{'.rtz' if rounding else ''}",
                convert,
                (1,),
                {"source": empty(source, 256), "target": empty(target, 256)},
                dict,
                {"ROUNDING": rounding, "N": 256},
                refused=dict.fromkeys(ARCHS, reason),
            )


def toward_zero():
    for target in (formats.f16, formats.bf16):
        source = of(formats.f32, np.random.default_rng(7).standard_normal(1024) * 2.0 ** np.linspace(-20, 12, 1024))
        nearest = target.decode(target.encode(source.values))
        below = np.nextafter(nearest.astype(np.float16), np.float16(0)) if target is formats.f16 else one_less(nearest)
        raw = target.encode(np.where(np.abs(nearest) > np.abs(source.values), below, nearest))
        yield Case(
            f"convert.f32.{target.name}.rtz",
            convert,
            (1,),
            {"source": source, "target": empty(target, 1024)},
            lambda r=raw: {"target": Exact(r)},
            {"ROUNDING": "rtz", "N": 1024},
        )


def one_less(values):
    """The next bfloat16 toward zero."""
    return formats.bf16.decode(formats.bf16.encode(values) - np.uint16(1))


def reinterpretations():
    for a, b in (
        ("f16", "i16"),
        ("bf16", "u16"),
        ("f32", "i32"),
        ("i32", "f32"),
        ("f64", "i64"),
        ("u64", "f64"),
        ("i16", "bf16"),
        ("e4m3", "u8"),
        ("i8", "e5m2"),
        ("bf16", "f16"),
        ("e4m3fnuz", "e5m2"),
    ):
        a, b = getattr(formats, a), getattr(formats, b)
        source = bits(a, COUNT, 8)
        yield Case(
            f"reinterpret.{a.name}.{b.name}",
            reinterpret,
            (1,),
            {"source": source, "target": empty(b, COUNT)},
            lambda s=source, b=b: {"target": Exact(s.raw.view(b.storage))},
            {"N": COUNT},
        )


def sums_of_eights():
    for format in formats.eights:
        codes = Array(format, np.arange(256, dtype=np.uint8))

        def expected(codes=codes):
            with np.errstate(all="ignore"):
                half = codes.values.astype(np.float16).astype(np.float64)
                return {"target": Same(half + 1)}

        yield Case(
            f"add_one_as_f32.{format.name}",
            add_one_as_f32,
            (1,),
            {"source": codes, "target": empty(formats.f32, 256)},
            expected,
            {"N": 256},
        )


def cases():
    groups = (
        integers_to_integers,
        floats_to_integers,
        large_floats_to_integers,
        to_all_floats,
        to_eights,
        toward_zero,
        toward_zero_to_eights,
        eights_to_bf16,
        reinterpretations,
        sums_of_eights,
        unsupported,
    )
    for group in groups:
        yield from group()
