"""Functions of floats: Triton's own, which are an instruction or a few, and those of AMD's device library (OCML)."""

from __future__ import annotations

import math

import numpy as np

from support import formats
from support.arrays import empty, of, uniform
from support.case import Case, Close, Exact, Same, ulps
from support.language import jit, libdevice, tl
from support.rows import row, stacked

COUNT = 256


@jit
def approximate(a, out, N: tl.constexpr):
    x = tl.load(a + tl.arange(0, N))
    row(out, 0, tl.exp(x))
    row(out, 1, tl.exp2(x))
    row(out, 2, tl.log(tl.abs(x)))
    row(out, 3, tl.log2(tl.abs(x)))
    row(out, 4, tl.sqrt(tl.abs(x)))
    row(out, 5, tl.rsqrt(tl.abs(x)))
    row(out, 6, tl.sin(x))
    row(out, 7, tl.cos(x))
    row(out, 8, tl.sigmoid(x))
    row(out, 9, tl.erf(x))


@jit
def exponentials(a, b, out, N: tl.constexpr):
    x = tl.load(a + tl.arange(0, N))
    row(out, 0, libdevice.exp(x))
    row(out, 1, libdevice.exp2(x))
    row(out, 2, libdevice.expm1(x))
    row(out, 3, libdevice.log(tl.abs(x)))
    row(out, 4, libdevice.log2(tl.abs(x)))
    row(out, 5, libdevice.log10(tl.abs(x)))
    row(out, 6, libdevice.log1p(tl.abs(x)))
    row(out, 7, libdevice.sqrt(tl.abs(x)))
    row(out, 8, libdevice.rsqrt(tl.abs(x)))
    row(out, 9, libdevice.sinh(x))
    row(out, 10, libdevice.cosh(x))
    row(out, 11, libdevice.tanh(x))
    row(out, 12, libdevice.asinh(x))
    row(out, 13, libdevice.acosh(tl.load(b + tl.arange(0, N))))


@jit
def circular(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    row(out, 0, libdevice.sin(x))
    row(out, 1, libdevice.cos(x))
    row(out, 2, libdevice.tan(x))
    row(out, 3, libdevice.atan(x))
    row(out, 4, libdevice.atan2(y, x))
    row(out, 5, libdevice.asin(y))
    row(out, 6, libdevice.acos(y))
    row(out, 7, libdevice.atanh(y))


@jit
def special(a, out, N: tl.constexpr):
    x = tl.load(a + tl.arange(0, N))
    row(out, 0, libdevice.erf(x))
    row(out, 1, libdevice.erfc(x))


@jit
def powers(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    row(out, 0, libdevice.pow(tl.abs(x), y))
    row(out, 1, libdevice.hypot(x, y))
    row(out, 2, libdevice.fmod(x, y))


@jit
def to_whole(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    row(out, 0, libdevice.floor(x))
    row(out, 1, libdevice.ceil(x))
    row(out, 2, libdevice.trunc(x))
    row(out, 3, libdevice.rint(x))
    row(out, 4, libdevice.nearbyint(x))
    row(out, 5, libdevice.round(x))
    row(out, 6, libdevice.copysign(x, y))
    row(out, 7, libdevice.nextafter(x, y))
    row(out, 8, libdevice.ldexp(x, (y * 8).to(tl.int32)))
    row(out, 9, libdevice.isnan(x).to(x.dtype))
    row(out, 10, libdevice.isinf(x).to(x.dtype))
    row(out, 11, libdevice.signbit(x).to(x.dtype))
    row(out, 12, libdevice.ilogb(tl.where((x == 0) | (x != x) | (tl.abs(x) > 1e30), 1.0, x)).to(x.dtype))


@jit
def count_bits(a, out, N: tl.constexpr):
    x = tl.load(a + tl.arange(0, N))
    row(out, 0, libdevice.clz(x).to(tl.int32))
    row(out, 1, libdevice.popc(x).to(tl.int32))


def by_libm(function):
    """A function of Python's math, whose own error is below one unit of a double."""
    return lambda *values: np.array([function(*v) for v in zip(*map(np.ravel, values), strict=True)], np.longdouble)


def erfc(x):
    return 1.0 - math.erf(x) if x < 0.5 else math.erfc(x)


EXPONENTIALS = (
    (lambda x, y: np.exp(x), 3),
    (lambda x, y: np.exp2(x), 3),
    (lambda x, y: np.expm1(x), 3),
    (lambda x, y: np.log(abs(x)), 3),
    (lambda x, y: np.log2(abs(x)), 3),
    (lambda x, y: np.log10(abs(x)), 3),
    (lambda x, y: np.log1p(abs(x)), 2),
    (lambda x, y: np.sqrt(abs(x)), 3),
    (lambda x, y: 1 / np.sqrt(abs(x)), 2),
    (lambda x, y: np.sinh(x), 4),
    (lambda x, y: np.cosh(x), 4),
    (lambda x, y: np.tanh(x), 5),
    (lambda x, y: np.arcsinh(x), 4),
    (lambda x, y: np.arccosh(y), 4),
)
CIRCULAR = (
    (lambda x, y: np.sin(x), 4),
    (lambda x, y: np.cos(x), 4),
    (lambda x, y: np.tan(x), 5),
    (lambda x, y: np.arctan(x), 5),
    (lambda x, y: np.arctan2(y, x), 6),
    (lambda x, y: np.arcsin(y), 4),
    (lambda x, y: np.arccos(y), 4),
    (lambda x, y: np.arctanh(y), 5),
)
SPECIAL = ((by_libm(math.erf), 16), (by_libm(erfc), 16))
POWERS = ((lambda x, y: np.power(abs(x), y), 16), (np.hypot, 4), (np.fmod, 0))


def of_library(name, kernel, format, arrays, functions):
    """Held to OpenCL's limits in units in the last place, which OCML keeps, and one more for a reference in doubles.
    Without fusion, which Triton lets into the library's own compensated sums."""

    def expected():
        values = stacked([f(*(a.raw.astype(np.longdouble) for a in arrays)) for f, _ in functions])
        limits = [limit + (1 if limit and format is formats.f64 else 0) for _, limit in functions]
        error = stacked([ulps(format, n, v.astype(np.float64)) for n, v in zip(limits, values, strict=True)])
        return {"out": Close(values.astype(np.float64), error)}

    arguments = dict(zip("ab", arrays, strict=False)) | {"out": empty(format, (len(functions), COUNT))}
    return Case(
        f"{name}.{format.name}", kernel, (1,), arguments, expected, {"N": COUNT}, options={"enable_fp_fusion": False}
    )


def library():
    for format in (formats.f32, formats.f64):
        small = uniform(format, COUNT, -5, 5, seed=1)
        unit = uniform(format, COUNT, -0.999, 0.999, seed=2)
        large = of(format, uniform(format, COUNT, -1, 1, seed=3).values * 10.0 ** np.linspace(-3, 9, COUNT))
        above_one = uniform(format, COUNT, 1, 6, seed=3)
        yield of_library("exponentials", exponentials, format, [small, above_one], EXPONENTIALS)
        yield of_library("circular", circular, format, [large, unit], CIRCULAR)
        yield of_library("special", special, format, [small], SPECIAL)
        yield of_library("powers", powers, format, [small, uniform(format, COUNT, -9, 9, seed=4)], POWERS)


def roundings():
    for format in (formats.f32, formats.f64):
        a = of(
            format,
            np.concatenate(
                [
                    np.arange(128) / 2 - 32,
                    np.random.default_rng(5).uniform(-1e6, 1e6, 120),
                    [0, -0.0, np.inf, -np.inf, np.nan, 2.0**60, 1e-30, -1e-30],
                ]
            ),
        )
        b = uniform(format, COUNT, -9, 9, seed=6)

        def expected(a=a, b=b):
            x, y = a.raw, b.raw
            half = np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x)
            exponent = np.where(np.isfinite(x) & (x != 0), np.frexp(x)[1] - 1, 0)
            rows = [
                np.floor(x),
                np.ceil(x),
                np.trunc(x),
                np.rint(x),
                np.rint(x),
                half,
                np.copysign(x, y),
                np.nextafter(x, y),
                np.ldexp(x, np.trunc(y * 8).astype(int)),
                np.isnan(x),
                np.isinf(x),
                np.signbit(x),
                exponent,
            ]
            return {"out": Same(stacked([r.astype(x.dtype) for r in rows]))}

        yield Case(
            f"to_whole.{format.name}",
            to_whole,
            (1,),
            {"a": a, "b": b, "out": empty(format, (13, COUNT))},
            expected,
            {"N": COUNT},
        )


def bit_counts():
    for format in (formats.i32, formats.i64):
        a = of(
            format,
            np.random.default_rng(7).integers(0, 2**62, COUNT) >> np.random.default_rng(8).integers(0, 62, COUNT),
        )
        a.raw[:2] = 0, -1

        def expected_bits(a=a, f=format):
            words = [format_bits(x, f.bits) for x in a.raw]
            counts = [[f.bits - len(w.lstrip("0")) for w in words], [w.count("1") for w in words]]
            return {"out": Exact(np.array(counts, np.int32))}

        yield Case(
            f"count_bits.{format.name}",
            count_bits,
            (1,),
            {"a": a, "out": empty(formats.i32, (2, COUNT))},
            expected_bits,
            {"N": COUNT},
        )


def format_bits(number, bits):
    return f"{int(number) & (2**bits - 1):0{bits}b}"


def own():
    """exp(x) is exp2(x * log2(e)), log(x) is log2(x) * ln(2): an instruction's error of 1 unit, and the product's,
    which the exponential magnifies by x. sin and cos take x / (2 pi): their absolute error grows with x. erf is the
    library's."""
    u = formats.f32.unit
    a = of(formats.f32, uniform(formats.f32, COUNT, -20, 20, seed=9).values)

    def expected():
        x = a.values
        size = np.abs(x)
        y = np.abs(x)
        rows = [
            np.exp(x),
            np.exp2(x),
            np.log(y),
            np.log2(y),
            np.sqrt(y),
            1 / np.sqrt(y),
            np.sin(x),
            np.cos(x),
            1 / (1 + np.exp(-x)),
            np.array([math.erf(v) for v in x]),
        ]
        e, e2, lo, lo2, sq, rs, si, co, sg, er = rows
        one = np.ones_like(x)
        errors = [
            e * (3 + 2 * size) * u,
            e2 * 2 * u,
            np.abs(lo) * 5 * u + u,
            np.abs(lo2) * 2 * u + u,
            sq * 2 * u,
            rs * 2 * u,
            (size + 4) * u,
            (size + 4) * u,
            sg * (8 + 2 * size) * u,
            one * 32 * u,
        ]
        return {"out": Close(stacked(rows), stacked(errors))}

    yield Case(
        "approximate.f32", approximate, (1,), {"a": a, "out": empty(formats.f32, (10, COUNT))}, expected, {"N": COUNT}
    )


def cases():
    for group in (own, library, roundings, bit_counts):
        yield from group()
