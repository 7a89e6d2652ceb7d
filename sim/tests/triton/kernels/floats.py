"""Arithmetic of floats. The basic operations round once: every result has one right value."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from support import formats
from support.arrays import bits, empty
from support.case import Case, Close, Same, ulps
from support.language import jit, tl
from support.rows import row, stacked

COUNT = 512


@jit
def basic(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    row(out, 0, x + y)
    row(out, 1, x - y)
    row(out, 2, x * y)
    row(out, 3, -x)
    row(out, 4, tl.abs(x))
    row(out, 5, tl.where(x < y, x, y))
    row(out, 6, tl.where(x >= y, x, 1.0))
    row(out, 7, tl.where(x != y, x, 0.5))
    row(out, 8, tl.where((x > y) | (y != y), 2.0, x))
    row(out, 9, x + 1.0)
    row(out, 10, x * 0.5)
    row(out, 11, 4.0 - x)


@jit
def smaller_and_larger(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    row(out, 0, tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL))
    row(out, 1, tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL))
    row(out, 2, tl.minimum(x, y))
    row(out, 3, tl.maximum(x, y))
    bound = tl.where(y == y, tl.abs(y), 1.0)  # bounds must be numbers
    row(out, 4, tl.clamp(x, -bound, bound, propagate_nan=tl.PropagateNan.ALL))
    row(out, 5, tl.clamp(tl.where(x == x, x, bound), -2.0, 3.0))


@jit
def rounded(a, b, c, out, N: tl.constexpr):
    x, y, z = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N)), tl.load(c + tl.arange(0, N))
    row(out, 0, tl.fma(x, y, z))
    row(out, 1, tl.fma(-x, y, 1.0))
    row(out, 2, tl.floor(x))
    row(out, 3, tl.ceil(x))


@jit
def quotients(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    row(out, 0, x / y)
    row(out, 1, 1.0 / y)


@jit
def nearest(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)), tl.load(b + tl.arange(0, N))
    row(out, 0, tl.div_rn(x, y))
    row(out, 1, tl.div_rn(1.0, y))
    row(out, 2, tl.sqrt_rn(tl.abs(x)))


@jit
def mixed(a, b, out, N: tl.constexpr):
    """f16 beside f32: the conversions become part of the operation where the target has such instructions."""
    x, y = tl.load(a + tl.arange(0, N)).to(tl.float32), tl.load(b + tl.arange(0, N)).to(tl.float32)
    row(out, 0, x + 1.0)
    row(out, 1, x - 0.5)
    row(out, 2, 4.0 - x)
    row(out, 3, x * y + 1.0)
    row(out, 4, x * 2.0 + y)
    row(out, 5, tl.abs(x) * y - 4.0)
    row(out, 6, x * y * -x)


@jit
def mixed_to_half(a, b, out, N: tl.constexpr):
    x, y = tl.load(a + tl.arange(0, N)).to(tl.float32), tl.load(b + tl.arange(0, N)).to(tl.float32)
    row(out, 0, (x * y + 1.0).to(tl.float16))
    row(out, 1, (x * 0.5 - 2.0).to(tl.float16))
    row(out, 2, (x * y + x).to(tl.float16))


def specials(format, seed):
    """Random bits, then numbers near 1 with zeros, infinities and NaNs."""
    array = bits(format, COUNT, seed)
    near = np.random.default_rng(seed).standard_normal(COUNT // 2) * 3
    near[:12] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 2.5, -2.5, 3, -2]
    np.random.default_rng(seed + 1).shuffle(near[:24])
    array.raw[COUNT // 2 :] = format.encode(near)
    return array


def whole_specials(format, seed):
    array = specials(format, seed)
    array.raw[:64] = format.encode(np.arange(64) - 32.0)
    array.raw[64:128] = format.encode((np.arange(64) - 32.0) / 4)
    return array


def quiet(function):
    def silent(*arguments):
        with np.errstate(all="ignore"):
            return function(*arguments)

    return silent


def all_basic():
    for format in formats.floats:
        a, b = specials(format, 11), specials(format, 12)

        @quiet
        def expected(a=a, b=b, f=format):
            x, y = a.values, b.values
            add, subtract, multiply = (exactly(f, o) for o in (np.add, np.subtract, np.multiply))
            one = np.ones_like(x)
            rows = [
                add(x, y),
                subtract(x, y),
                multiply(x, y),
                -x,
                np.abs(x),
                np.where(x < y, x, y),
                np.where(x >= y, x, 1),
                np.where(x != y, x, 0.5),
                np.where((x > y) | np.isnan(y), 2, x),
                add(x, one),
                multiply(x, one / 2),
                subtract(4 * one, x),
            ]
            return {"out": Same(stacked(rows))}

        yield Case(
            f"basic.{format.name}",
            basic,
            (1,),
            {"a": a, "b": b, "out": empty(format, (12, COUNT))},
            expected,
            {"N": COUNT},
        )


def exactly(format, operation):
    """In the format itself where numpy has it; for the others float64 has digits enough to round twice without harm."""
    narrow = format.storage if format.bias is None else np.float64
    return lambda *values: format.decode(
        format.encode(operation(*(v.astype(narrow) for v in values)).astype(np.float64))
    )


def all_smaller_and_larger():
    for format in formats.floats:
        a, b = specials(format, 21), specials(format, 22)

        @quiet
        def expected(a=a, b=b):
            x, y = a.values, b.values
            bound = np.where(np.isnan(y), 1, np.abs(y))
            number = np.where(np.isnan(x), bound, x)
            rows = [
                np.minimum(x, y),
                np.maximum(x, y),
                np.fmin(x, y),
                np.fmax(x, y),
                np.clip(x, -bound, bound),
                np.clip(number, -2, 3),
            ]
            return {"out": Same(stacked(rows), zeros=False)}

        yield Case(
            f"smaller_and_larger.{format.name}",
            smaller_and_larger,
            (1,),
            {"a": a, "b": b, "out": empty(format, (6, COUNT))},
            expected,
            {"N": COUNT},
        )


@partial(np.vectorize, otypes=[np.float64])
def fused_double(x, y, z):
    """x * y + z, rounded once to a double: exactly by fractions."""
    if not np.isfinite([x, y, z]).all() or x * y == 0:
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return 0.0
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else -float("inf")


@partial(np.vectorize, otypes=[np.float64])
def fused_single(x, y, z):
    """The same for f32, whose product is exact in a double. Where the sum is not, its last bit is set, so that rounding
    again, to f32, finds the right side."""
    product = x * y
    total = product + z
    if not np.isfinite(total) or Fraction(total) == Fraction(product) + Fraction(z):
        return np.float32(total)
    up = Fraction(total) < Fraction(product) + Fraction(z)
    even = np.float64(total).view(np.uint64) % 2 == 0
    return np.float32(np.nextafter(total, np.inf if up else -np.inf) if even else total)


def all_rounded():
    for format, fused in ((formats.f32, fused_single), (formats.f64, fused_double)):
        a, b, c = whole_specials(format, 31), specials(format, 32), specials(format, 33)

        @quiet
        def expected(a=a, b=b, c=c, fused=fused):
            x, y, z = a.values, b.values, c.values
            return {"out": Same(stacked([fused(x, y, z), fused(-x, y, np.ones_like(x)), np.floor(x), np.ceil(x)]))}

        yield Case(
            f"rounded.{format.name}",
            rounded,
            (1,),
            {"a": a, "b": b, "c": c, "out": empty(format, (4, COUNT))},
            expected,
            {"N": COUNT},
        )


def all_quotients():
    """The error of f32's division is OpenCL's, 2.5 units in the last place; f64's rounds to nearest."""
    for format, limit in ((formats.f32, 2.5), (formats.f64, 0)):
        a, b = specials(format, 41), specials(format, 42)

        @quiet
        def expected(a=a, b=b, f=format, limit=limit):
            x, y = (v.raw.astype(np.longdouble) for v in (a, b))
            values = stacked([x / y, 1 / y]).astype(np.float64)
            return {"out": Close(values, ulps(f, limit, values))}

        yield Case(
            f"quotients.{format.name}",
            quotients,
            (1,),
            {"a": a, "b": b, "out": empty(format, (2, COUNT))},
            expected,
            {"N": COUNT},
        )
    a, b = specials(formats.f32, 43), specials(formats.f32, 44)

    @quiet
    def expected_nearest():
        x, y, one = a.raw, b.raw, np.float32(1)
        return {"out": Same(stacked([x / y, one / y, np.sqrt(np.abs(x))]))}

    yield Case(
        "nearest",
        nearest,
        (1,),
        {"a": a, "b": b, "out": empty(formats.f32, (3, COUNT))},
        expected_nearest,
        {"N": COUNT},
    )


def all_mixed():
    """Sums and products of two f16 are exact in f64 except for distant exponents; f32 rounds once or twice."""
    for format in (formats.f16, formats.bf16):
        a, b = whole_specials(format, 51), specials(format, 52)

        @quiet
        def expected(a=a, b=b):
            x, y = a.values, b.values
            rows = [x + 1, x - 0.5, 4 - x, x * y + 1, x * 2 + y, np.abs(x) * y - 4, x * y * -x]
            sizes = [np.abs(x) + 4] * 3 + [np.abs(x * y) + 4] * 3 + [np.abs(x * y * x)]
            return {"out": Close(stacked(rows), finite(stacked(sizes)) * 2 * formats.f32.unit)}

        yield Case(
            f"mixed.{format.name}",
            mixed,
            (1,),
            {"a": a, "b": b, "out": empty(formats.f32, (7, COUNT))},
            expected,
            {"N": COUNT},
        )
    a, b = whole_specials(formats.f16, 61), specials(formats.f16, 62)

    @quiet
    def expected_half():
        x, y = a.values, b.values
        rows = [x * y + 1, x * 0.5 - 2, x * y + x]
        sizes = stacked([np.abs(x * y) + 1, np.abs(x) + 2, np.abs(x * y) + np.abs(x)])
        return {"out": Close(stacked(rows), finite(sizes) * 2 * formats.f32.unit)}

    yield Case(
        "mixed_to_half",
        mixed_to_half,
        (1,),
        {"a": a, "b": b, "out": empty(formats.f16, (3, COUNT))},
        expected_half,
        {"N": COUNT},
    )


def finite(values):
    return np.where(np.isfinite(values), values, 0)


def cases():
    for group in (all_basic, all_smaller_and_larger, all_rounded, all_quotients, all_mixed):
        yield from group()
