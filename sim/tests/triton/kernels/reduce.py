"""Reductions, along each axis of one and two dimensions, within a lane, a wave and a workgroup."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import bits, empty, normal, of, whole
from support.case import Case, Close, Exact, Same
from support.language import jit, tl

SHAPES = ((1, 512), (16, 64), (64, 16), (4, 4))


@jit
def reduce_rows(source, total, least, most, first_least, first_most, R: tl.constexpr, C: tl.constexpr):
    x = tl.load(source + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    at = tl.arange(0, R)
    tl.store(total + at, tl.sum(x, axis=1).to(total.dtype.element_ty))
    tl.store(least + at, tl.min(x, axis=1))
    tl.store(most + at, tl.max(x, axis=1))
    tl.store(first_least + at, tl.argmin(x, axis=1))
    tl.store(first_most + at, tl.argmax(x, axis=1))


@jit
def reduce_columns(source, total, least, most, first_least, first_most, R: tl.constexpr, C: tl.constexpr):
    x = tl.load(source + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    at = tl.arange(0, C)
    tl.store(total + at, tl.sum(x, axis=0).to(total.dtype.element_ty))
    tl.store(least + at, tl.min(x, axis=0))
    tl.store(most + at, tl.max(x, axis=0))
    tl.store(first_least + at, tl.argmin(x, axis=0))
    tl.store(first_most + at, tl.argmax(x, axis=0))


def basic():
    """Sums of small whole numbers are exact in every order."""
    for format in (*formats.integers, *formats.floats):
        for r, c in SHAPES:
            for axis, kernel in ((1, reduce_rows), (0, reduce_columns)):
                if r == 1 and axis == 0:
                    continue
                most = {formats.f16: 3, formats.bf16: 1}.get(format, 60)
                source = whole(format, (r, c), 0 if format in formats.unsigned else -most, most)
                count = (r, c)[1 - axis]
                wide = format if format.is_float or format.bits >= 32 else formats.i32
                wide = formats.u32 if format in formats.unsigned and format.bits < 32 else wide

                def expected(x=source.values, axis=axis, format=format, wide=wide):
                    return {
                        "total": Exact(wide.encode(x.sum(axis, dtype=np.float64))),
                        "least": Exact(format.encode(x.min(axis))),
                        "most": Exact(format.encode(x.max(axis))),
                        "first_least": Exact(x.argmin(axis)),
                        "first_most": Exact(x.argmax(axis)),
                    }

                arrays = {
                    "source": source,
                    "total": empty(wide, count),
                    "least": empty(format, count),
                    "most": empty(format, count),
                    "first_least": empty(formats.i32, count),
                    "first_most": empty(formats.i32, count),
                }
                yield Case(f"{kernel.__name__}.{format.name}.{r}x{c}", kernel, (1,), arrays, expected, {"R": r, "C": c})


@jit
def reduce_all(source, target, N: tl.constexpr):
    x = tl.load(source + tl.arange(0, N))
    tl.store(target, tl.sum(x))
    tl.store(target + 1, tl.max(x))
    tl.store(target + 2, tl.min(x))


def sums():
    """n rounded additions, in any order: each partial sum is at most the sum of the sizes, and takes one rounding."""
    for format in (formats.f16, formats.f32, formats.f64):
        for count, warps in ((64, 1), (1024, 4), (4096, 8)):
            source = normal(format, count)

            def expected(x=source.values, f=format, n=count):
                size = np.abs(x).sum()
                return {"target": Close(np.array([x.sum(), x.max(), x.min()]), np.array([n * f.unit * size, 0, 0]))}

            yield Case(
                f"reduce_all.{format.name}.{count}",
                reduce_all,
                (1,),
                {"source": source, "target": empty(format, 3)},
                expected,
                {"N": count},
                warps=warps,
            )


@jit
def exclusive_or(source, target, R: tl.constexpr, C: tl.constexpr):
    x = tl.load(source + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(target + tl.arange(0, R), tl.xor_sum(x, axis=1))
    tl.store(target + R + tl.arange(0, R), tl.reduce_or(x, axis=1))


def bitwise():
    for format in (formats.i32, formats.u32, formats.i64):
        source = bits(format, (16, 64))
        source.raw &= source.raw >> 3
        yield Case(
            f"exclusive_or.{format.name}",
            exclusive_or,
            (1,),
            {"source": source, "target": empty(format, (2, 16))},
            lambda x=source.raw: {"target": Exact(np.stack([np.bitwise_xor.reduce(x, 1), np.bitwise_or.reduce(x, 1)]))},
            {"R": 16, "C": 64},
        )


@jit
def nan_wins(source, target, N: tl.constexpr):
    """max and min pass over a NaN; a reduction with NaN-propagating maxima of our own does not."""
    x = tl.load(source + tl.arange(0, N))
    tl.store(target, tl.max(x))
    tl.store(target + 1, tl.min(x))
    tl.store(target + 2, tl.reduce(x, 0, strict_maximum))


@jit
def strict_maximum(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


def with_nan():
    for format in (formats.f16, formats.bf16, formats.f32, formats.f64):
        source = normal(format, 512)
        source.raw[[3, 77, 400]] = format.encode(np.nan)
        x = source.values
        yield Case(
            f"nan_wins.{format.name}",
            nan_wins,
            (1,),
            {"source": source, "target": empty(format, 3)},
            lambda x=x: {"target": Same(np.array([np.nanmax(x), np.nanmin(x), np.nan]))},
            {"N": 512},
        )


@jit
def merge_moments(count_a, mean_a, square_a, count_b, mean_b, square_b):
    """Welford's: counts, means and sums of squares about the mean, of two parts."""
    count = count_a + count_b
    delta = mean_b - mean_a
    share = count_b / count
    return count, mean_a + delta * share, square_a + square_b + delta * delta * count_a * share


@jit
def moments(source, target, R: tl.constexpr, C: tl.constexpr):
    x = tl.load(source + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    count, mean, square = tl.reduce((tl.full(x.shape, 1.0, tl.float32), x, x * 0), 1, merge_moments)
    at = tl.arange(0, R)
    tl.store(target + at, mean)
    tl.store(target + R + at, square / count)


def tuples():
    """log2(C) levels of merges, each with about 8 roundings of numbers no larger than the largest mean or square."""
    for r, c in ((8, 128), (64, 8)):
        source = normal(formats.f32, (r, c), scale=3)

        def expected(x=source.values, c=c):
            size, depth = np.abs(x).max(1), 8 * np.log2(c) * formats.f32.unit
            return {"target": Close(np.stack([x.mean(1), x.var(1)]), np.stack([size * depth, 4 * size**2 * depth]))}

        yield Case(
            f"moments.{r}x{c}",
            moments,
            (1,),
            {"source": source, "target": empty(formats.f32, (2, r))},
            expected,
            {"R": r, "C": c},
        )


@jit
def three_axes(source, target, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    at = (tl.arange(0, A)[:, None, None] * B + tl.arange(0, B)[None, :, None]) * C + tl.arange(0, C)[None, None, :]
    x = tl.load(source + at)
    middle = tl.sum(x, axis=1)
    tl.store(target + tl.arange(0, A)[:, None] * C + tl.arange(0, C)[None, :], middle)


def cubes():
    source = whole(formats.f32, (8, 16, 8), -99, 99)
    yield Case(
        "three_axes",
        three_axes,
        (1,),
        {"source": source, "target": empty(formats.f32, (8, 8))},
        lambda: {"target": Exact(source.raw.sum(1))},
        {"A": 8, "B": 16, "C": 8},
    )
    tied = of(formats.f32, [5.0] * 256)
    yield Case(
        "reduce_rows.ties",
        reduce_rows,
        (1,),
        {
            "source": tied,
            "total": empty(formats.f32, 1),
            "least": empty(formats.f32, 1),
            "most": empty(formats.f32, 1),
            "first_least": empty(formats.i32, 1),
            "first_most": empty(formats.i32, 1),
        },
        lambda: {
            "total": Exact(np.float32([1280])),
            "first_least": Exact(np.int32([0])),
            "first_most": Exact(np.int32([0])),
        },
        {"R": 1, "C": 256},
    )


def cases():
    for group in (basic, sums, bitwise, with_nan, tuples, cubes):
        yield from group()
