"""Loads and stores of every type and width: masked, strided, in tiles, through descriptors, with each cache policy."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import Scalar, bits, empty, filled, of, whole
from support.case import Case, Exact
from support.language import jit, tl


@jit
def masked_copy(source, target, first, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (at >= first) & (at < count)
    tl.store(target + at, tl.load(source + at, mask=inside), mask=inside)


def masked_copies():
    """A lane has 1, 2, 4 ... elements. Ends at multiples of 16 leave them together, in accesses of up to 16 bytes."""
    for format in formats.every:
        for elements in (1, 2, 4, 8, 16):
            if elements * format.bits > 128:
                continue
            for form, first, count, hints in (
                ("even", 16, 976, True),
                ("ragged", 3, 995, True),
                ("plain", 3, 995, False),
            ):
                source, target = bits(format, 1000), filled(format, 1000)
                expected = target.raw.copy()
                expected[first:count] = source.raw[first:count]
                yield Case(
                    f"masked_copy.{format.name}.x{elements}.{form}",
                    masked_copy,
                    (-(-1000 // (64 * elements)),),
                    {"source": source, "target": target, "first": first, "count": count},
                    lambda e=expected: {"target": Exact(e)},
                    {"BLOCK": 64 * elements},
                    warps=1,
                    hints=hints,
                )


@jit
def load_or_other(source, target, count, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    """What is masked off is OTHER; the store has no mask."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < count, other=OTHER))


def loads_or_other():
    for format in formats.integers + formats.floats:
        for count, hints in ((448, True), (457, True), (457, False)):
            source, other = bits(format, count), 3
            rest = np.full(512 - count, format.encode(other), format.storage)
            expected = np.concatenate([source.raw, rest])
            yield Case(
                f"load_or_other.{format.name}.{count}{'' if hints else '.plain'}",
                load_or_other,
                (2,),
                {"source": source, "target": empty(format, 512), "count": count},
                lambda e=expected: {"target": Exact(e)},
                {"OTHER": other, "BLOCK": 256},
                warps=1,
                hints=hints,
            )


@jit
def assumed_rows(source, target, rows, columns, stride, R: tl.constexpr, C: tl.constexpr):
    """Rows at a stride that the compiler may take for small and positive: buffer loads with lanes beyond the end."""
    tl.assume(stride >= 0)
    tl.assume(stride < 1 << 20)
    row, column = tl.arange(0, R)[:, None], tl.program_id(0) * C + tl.arange(0, C)[None, :]
    inside = (row < rows) & (column < columns)
    value = tl.load(source + row * tl.multiple_of(stride, 8) + column, mask=inside, other=0.0)
    tl.store(target + row * (tl.num_programs(0) * C) + column, value * 2 + 1)


def rows():
    for format in (formats.f16, formats.f32, formats.f64):
        for hints in (True, False):
            source = whole(format, (13, 96), -40, 40)
            inner = np.zeros((16, 128))
            inner[:13, :80] = source.values[:, :80]
            yield Case(
                f"assumed_rows.{format.name}{'' if hints else '.plain'}",
                assumed_rows,
                (2,),
                {"source": source, "target": empty(format, (16, 128)), "rows": 13, "columns": 80, "stride": 96},
                lambda e=inner, f=format: {"target": Exact(f.encode(e * 2 + 1))},
                {"R": 16, "C": 64},
                hints=hints,
            )


@jit
def strided(source, target, count, step, BLOCK: tl.constexpr):
    """Element n goes from place n * step to place count - 1 - n: lanes apart, and lanes in falling order."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + at * step, mask=at < count)
    tl.store(target + count - 1 - at, value, mask=at < count)


def strides():
    for format in (formats.i8, formats.f16, formats.i32, formats.f64):
        for step in (1, 2, 3, 16):
            source = bits(format, 300 * step)
            yield Case(
                f"strided.{format.name}.by{step}",
                strided,
                (3,),
                {"source": source, "target": empty(format, 300), "count": 300, "step": step},
                lambda s=source, n=step: {"target": Exact(s.raw[::n][::-1])},
                {"BLOCK": 128},
                warps=1,
            )


@jit
def skewed_copy(source, target, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < count
    tl.store(target + at, tl.load(source + at, mask=inside), mask=inside)


def skews():
    """Arrays that begin in the middle of 16 bytes, 4 bytes, or a dword."""
    for format in (formats.u8, formats.f16, formats.i32, formats.i64):
        for hints in (True, False):
            source, target = bits(format, 250), empty(format, 250)
            source.skew, target.skew = 1, 3
            yield Case(
                f"skewed_copy.{format.name}{'' if hints else '.plain'}",
                skewed_copy,
                (1,),
                {"source": source, "target": target, "count": 250},
                lambda s=source: {"target": Exact(s.raw)},
                {"BLOCK": 256},
                warps=1,
                hints=hints,
            )


@jit
def pairs(source, target, start, ROWS: tl.constexpr):
    """Neighbours stored one by one, which the compiler may join into one store at any even address."""
    row = start + tl.arange(0, ROWS)
    a = tl.load(source + 2 * row)
    b = tl.load(source + 2 * row + 1)
    tl.store(target + 2 * row, b)
    tl.store(target + 2 * row + 1, a)


def pair_swaps():
    for format in (formats.i8, formats.f16, formats.bf16, formats.f32, formats.i64):
        for skew in (0, 1):
            source, target = bits(format, (129, 2)), filled(format, (129, 2))
            source.skew = target.skew = skew
            expected = np.concatenate([target.raw[:1], source.raw[1:, ::-1]])
            yield Case(
                f"pairs.{format.name}{'.skewed' if skew else ''}",
                pairs,
                (1,),
                {"source": source, "target": target, "start": 1},
                lambda e=expected: {"target": Exact(e)},
                {"ROWS": 128},
                warps=2,
                hints=False,
            )


@jit
def policies(source, target, count, LOAD: tl.constexpr, STORE: tl.constexpr, EVICT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(source + at, mask=inside, cache_modifier=LOAD, eviction_policy=EVICT)
    tl.store(target + at, value, mask=inside, cache_modifier=STORE, eviction_policy=EVICT)


def cache_policies():
    choices = (
        ("", "", "evict_first"),
        ("", "", "evict_last"),
        (".ca", ".wb", ""),
        (".cg", ".cg", ""),
        (".cs", ".cs", ""),
        (".cv", ".wt", ""),
    )
    for load, store, evict in choices:
        for hints in (True, False):
            source, target = bits(formats.f32, 500), filled(formats.f32, 512)
            expected = target.raw.copy()
            expected[:500] = source.raw
            name = evict or f"{load[1:]}.{store[1:]}"
            yield Case(
                f"policies.{name}{'' if hints else '.plain'}",
                policies,
                (2,),
                {"source": source, "target": target, "count": 500},
                lambda e=expected: {"target": Exact(e)},
                {"LOAD": load, "STORE": store, "EVICT": evict, "BLOCK": 256},
                warps=2,
                hints=hints,
            )


@jit
def volatile_copy(source, target, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, volatile=True))


@jit
def described_tiles(source, target, rows, columns, R: tl.constexpr, C: tl.constexpr):
    """Tiles of tensors with a descriptor: what is outside loads as zero and is not stored."""
    a = tl.make_tensor_descriptor(source, [rows, columns], [columns, 1], [R, C])
    b = tl.make_tensor_descriptor(target, [rows, columns], [columns, 1], [R, C])
    r, c = tl.program_id(0) * R, tl.program_id(1) * C
    b.store([r, c], a.load([r, c]))


@jit
def many_scalars(target, a, b, c, d, e, f, g, h, i, j):
    """Arguments of every size, each at its own alignment."""
    tl.store(target, a.to(tl.float64))
    tl.store(target + 1, b.to(tl.float64))
    tl.store(target + 2, c.to(tl.float64))
    tl.store(target + 3, d.to(tl.float64))
    tl.store(target + 4, e.to(tl.float64))
    tl.store(target + 5, f.to(tl.float64))
    tl.store(target + 6, g.to(tl.float64))
    tl.store(target + 7, h.to(tl.float64))
    tl.store(target + 8, i.to(tl.float64))
    tl.store(target + 9, j.to(tl.float64))


def singles():
    source = bits(formats.i16, 256)
    yield Case(
        "volatile_copy",
        volatile_copy,
        (1,),
        {"source": source, "target": empty(formats.i16, 256)},
        lambda: {"target": Exact(source.raw)},
        {"BLOCK": 256},
    )
    tiles = bits(formats.f32, (37, 52))
    yield Case(
        "described_tiles",
        described_tiles,
        (3, 4),
        {"source": tiles, "target": empty(formats.f32, (37, 52)), "rows": 37, "columns": 52},
        lambda: {"target": Exact(tiles.raw)},
        {"R": 16, "C": 16},
    )
    numbers = (-7, 200, -30000, 2**33 + 5, 60000, -(2**31), 4e9, 1.5, -0.375, 2.0**-30)
    kinds = (
        formats.i8,
        formats.u8,
        formats.i16,
        formats.i64,
        formats.u16,
        formats.i32,
        formats.u32,
        formats.f32,
        formats.f32,
        formats.f64,
    )
    scalars = [Scalar(k, n if k.is_float else int(n)) for k, n in zip(kinds, numbers, strict=True)]
    for hints in (True, False):
        yield Case(
            f"many_scalars{'' if hints else '.plain'}",
            many_scalars,
            (1,),
            {"target": empty(formats.f64, 10)} | dict(zip("abcdefghij", scalars, strict=True)),
            lambda: {"target": Exact(of(formats.f64, numbers).raw)},
            warps=1,
            hints=hints,
        )


def cases():
    for group in (masked_copies, loads_or_other, rows, strides, skews, pair_swaps, cache_policies, singles):
        yield from group()
