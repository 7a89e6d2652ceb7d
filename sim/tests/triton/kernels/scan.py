"""Scans: running sums, products and others along each axis, forwards and backwards."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import bits, empty, normal, of, uniform, whole
from support.case import Case, Close, Exact
from support.language import jit, tl


@jit
def running_sum(source, target, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(target + at, tl.cumsum(tl.load(source + at), AXIS, reverse=REVERSE).to(target.dtype.element_ty))


def running(x, axis, reverse, function=np.add):
    if reverse:
        return np.flip(function.accumulate(np.flip(x, axis), axis), axis)
    return function.accumulate(x, axis)


def running_sums():
    """Of whole numbers, small enough that every sum is exact."""
    for format in (*formats.integers, *formats.floats):
        for r, c in ((1, 1024), (8, 64), (64, 8)):
            for axis in (0, 1):
                for reverse in (False, True):
                    if (r, axis) in ((1, 0), (64, 1)):
                        continue
                    source = whole(format, (r, c), 0 if format in formats.unsigned else -50, 50)
                    if format in (formats.f16, formats.bf16):
                        source = of(format, np.sign(source.values))
                    target = format if format.is_float or format.bits >= 32 else formats.i32

                    def expected(x=source.values, axis=axis, reverse=reverse, target=target):
                        return {"target": Exact(target.encode(running(x.astype(np.float64), axis, reverse)))}

                    name = f"running_sum.{format.name}.{r}x{c}.{axis}{'.reverse' if reverse else ''}"
                    yield Case(
                        name,
                        running_sum,
                        (1,),
                        {"source": source, "target": empty(target, (r, c))},
                        expected,
                        {"R": r, "C": c, "AXIS": axis, "REVERSE": reverse},
                    )


@jit
def running_product(source, target, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(target + at, tl.cumprod(tl.load(source + at), 0))


def running_products():
    """Of integers, modulo 2^n; of floats, with a rounding for each factor."""
    for format in (formats.i32, formats.u32, formats.i64):
        source = bits(format, 256)
        source.raw |= 1
        yield Case(
            f"running_product.{format.name}",
            running_product,
            (1,),
            {"source": source, "target": empty(format, 256)},
            lambda x=source.raw: {"target": Exact(np.multiply.accumulate(x))},
            {"N": 256},
        )
    for format in (formats.f32, formats.f64):
        source = uniform(format, 256, 0.9, 1.1)

        def expected(x=source.values, f=format):
            product = np.multiply.accumulate(x)
            return {"target": Close(product, np.arange(1, 257) * f.unit * product)}

        yield Case(
            f"running_product.{format.name}",
            running_product,
            (1,),
            {"source": source, "target": empty(format, 256)},
            expected,
            {"N": 256},
        )


@jit
def larger(a, b):
    return tl.maximum(a, b)


@jit
def running_maximum(source, target, R: tl.constexpr, C: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(target + at, tl.associative_scan(tl.load(source + at), 1, larger, reverse=REVERSE))


def running_maxima():
    for format in (formats.i8, formats.i16, formats.u32, formats.i64, formats.f16, formats.f32, formats.f64):
        for reverse in (False, True):
            source = bits(format, (4, 128)) if not format.is_float else normal(format, (4, 128))
            yield Case(
                f"running_maximum.{format.name}{'.reverse' if reverse else ''}",
                running_maximum,
                (1,),
                {"source": source, "target": empty(format, (4, 128))},
                lambda x=source.raw, r=reverse: {"target": Exact(running(x, 1, r, np.maximum))},
                {"R": 4, "C": 128, "REVERSE": reverse},
            )


@jit
def then(a_slope, a_offset, b_slope, b_offset):
    return a_slope * b_slope, b_slope * a_offset + b_offset


@jit
def recurrence(slopes, offsets, target, R: tl.constexpr, C: tl.constexpr):
    """h = slope * h + offset along each row, as a scan of pairs."""
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    _, h = tl.associative_scan((tl.load(slopes + at), tl.load(offsets + at)), 1, then)
    tl.store(target + at, h)


def recurrences():
    """With slopes below 1, each step's error decays: the scan's tree over n steps adds at most 3 (log2(n) + 2)
    roundings of the sum of sizes."""
    for r, c in ((4, 128), (16, 32)):
        slopes, offsets = uniform(formats.f32, (r, c), 0.5, 0.99, seed=1), normal(formats.f32, (r, c), seed=2)

        def expected(a=slopes.values, b=offsets.values):
            h, size, rows, sizes = 0, 0, [], []
            for n in range(a.shape[1]):
                h, size = a[:, n] * h + b[:, n], a[:, n] * size + np.abs(b[:, n])
                rows.append(h)
                sizes.append(size)
            depth = 3 * (np.log2(a.shape[1]) + 2)
            return {"target": Close(np.stack(rows, 1), depth * formats.f32.unit * np.stack(sizes, 1))}

        yield Case(
            f"recurrence.{r}x{c}",
            recurrence,
            (1,),
            {"slopes": slopes, "offsets": offsets, "target": empty(formats.f32, (r, c))},
            expected,
            {"R": r, "C": c},
        )


@jit
def compact(source, target, count, N: tl.constexpr):
    """The positive numbers, close together and in order: a running count gives their places."""
    x = tl.load(source + tl.arange(0, N))
    chosen = x > 0
    place = tl.cumsum(chosen.to(tl.int32), 0) - 1
    tl.store(target + place, x, mask=chosen)
    tl.store(count, tl.sum(chosen.to(tl.int32)))


def compactions():
    source = normal(formats.f32, 1024)
    chosen = source.raw[source.raw > 0]
    yield Case(
        "compact",
        compact,
        (1,),
        {"source": source, "target": empty(formats.f32, len(chosen)), "count": empty(formats.i32, 1)},
        lambda: {"target": Exact(chosen), "count": Exact(np.int32([len(chosen)]))},
        {"N": 1024},
    )


def cases():
    for group in (running_sums, running_products, running_maxima, recurrences, compactions):
        yield from group()
