"""Arithmetic of integers of 8 to 64 bits: a kernel writes one row of results for each operation."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import bits, empty
from support.case import Case, Exact
from support.language import jit, tl
from support.rows import row, stacked

COUNT = 256


@jit
def arithmetic(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    row(out, 0, x + y)
    row(out, 1, x - y)
    row(out, 2, x * y)
    row(out, 3, x // y)
    row(out, 4, x % y)
    row(out, 5, x * y + x)
    row(out, 6, tl.minimum(x, y))
    row(out, 7, tl.maximum(x, y))
    row(out, 8, -x)
    row(out, 9, tl.abs(x))
    row(out, 10, tl.where(x < y, x, y * 3))
    row(out, 11, ((x <= y) & (x != 5) | (x == y)).to(out.dtype.element_ty))


@jit
def bitwise(a, b, out, BITS: tl.constexpr, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    count = y & (BITS - 1)
    row(out, 0, x & y)
    row(out, 1, x | y)
    row(out, 2, x ^ y)
    row(out, 3, ~x)
    row(out, 4, x << count)
    row(out, 5, x >> count)
    row(out, 6, (x << count) | (x >> (BITS - 1 - count)))
    row(out, 7, (x >> 3) & 0x55)
    row(out, 8, (x & y) ^ (x | 7))


@jit
def high_products(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    row(out, 0, tl.umulhi(x, y))
    row(out, 1, x // 7)  # divisions by constants are high products too
    row(out, 2, x % 1000)
    row(out, 3, x // 64)


@jit
def wide_products(a, b, out, WIDE: tl.constexpr, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)).to(WIDE), tl.load(b + tl.arange(0, N)).to(WIDE)
    row(out, 0, x * y)
    row(out, 1, x * y + x)
    row(out, 2, x * x - y)


def quotient(x, y):
    """Towards zero, as in C."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def wrapped(format, numbers):
    """Python's integers as the format keeps them."""
    low = np.array([n & (2**format.bits - 1) for n in numbers], f"u{format.bits // 8}")
    return low.view(format.storage)


def pairs_of(format, seed):
    """Random bits, small numbers, zeros and the extremes. The second is never 0 or -1: nothing is divided by them."""
    a, b = bits(format, COUNT, seed), bits(format, COUNT, seed + 1)
    limits = np.iinfo(format.storage)
    a.raw[:8] = [0, 1, 2, 5, limits.min, limits.max, limits.max // 3, 7]
    a.raw[8:40] &= 15
    b.raw[24:56] &= 15
    b.raw[:2] = limits.max, limits.max // 2 + 1
    b.raw[(b.raw == 0) | (b.raw.view(f"i{b.raw.itemsize}") == -1)] = 5
    return a, b


def of_python(format, function, a, b):
    """Rows of results, by Python's integers of any size."""
    x, y = (list(map(int, v.raw)) for v in (a, b))
    return lambda: {"out": Exact(stacked([wrapped(format, r) for r in zip(*map(function, x, y), strict=True)]))}


def all_arithmetic():
    for format in formats.integers:
        a, b = pairs_of(format, 11)

        def expected(x, y):
            q = quotient(x, y)
            compare = int((x <= y and x != 5) or x == y)
            return (
                x + y,
                x - y,
                x * y,
                q,
                x - q * y,
                x * y + x,
                min(x, y),
                max(x, y),
                -x,
                abs(x),
                x if x < y else y * 3,
                compare,
            )

        yield Case(
            f"arithmetic.{format.name}",
            arithmetic,
            (1,),
            {"a": a, "b": b, "out": empty(format, (12, COUNT))},
            of_python(format, expected, a, b),
            {"N": COUNT},
        )


def all_bitwise():
    for format in formats.integers:
        a, b = pairs_of(format, 21)
        n = format.bits

        def expected(x, y, n=n):
            count = y & (n - 1)
            mixed = (x << count) | (x >> (n - 1 - count))
            return x & y, x | y, x ^ y, ~x, x << count, x >> count, mixed, (x >> 3) & 0x55, (x & y) ^ (x | 7)

        yield Case(
            f"bitwise.{format.name}",
            bitwise,
            (1,),
            {"a": a, "b": b, "out": empty(format, (9, COUNT))},
            of_python(format, expected, a, b),
            {"BITS": n, "N": COUNT},
        )


def all_products():
    for format in (formats.i32, formats.u32, formats.i64, formats.u64):
        a, b = pairs_of(format, 31)
        n, mask = format.bits, 2**format.bits - 1

        def expected(x, y, n=n, mask=mask):
            return ((x & mask) * (y & mask)) >> n, quotient(x, 7), x - quotient(x, 1000) * 1000, quotient(x, 64)

        yield Case(
            f"high_products.{format.name}",
            high_products,
            (1,),
            {"a": a, "b": b, "out": empty(format, (4, COUNT))},
            of_python(format, expected, a, b),
            {"N": COUNT},
        )
    for narrow, wide in (("i8", "i16"), ("u8", "i32"), ("i16", "i32"), ("u16", "u32"), ("i32", "i64"), ("u32", "u64")):
        narrow, wide = getattr(formats, narrow), getattr(formats, wide)
        a, b = pairs_of(narrow, 41)
        yield Case(
            f"wide_products.{narrow.name}.{wide.name}",
            wide_products,
            (1,),
            {"a": a, "b": b, "out": empty(wide, (3, COUNT))},
            of_python(wide, lambda x, y: (x * y, x * y + x, x * x - y), a, b),
            {"WIDE": wide, "N": COUNT},
        )


def cases():
    for group in (all_arithmetic, all_bitwise, all_products):
        yield from group()
