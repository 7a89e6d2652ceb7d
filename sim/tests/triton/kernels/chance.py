"""Random numbers by Philox, and dropout with them."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import Scalar, empty, normal
from support.case import Case, Close, Exact
from support.language import jit, tl

N = 256


@jit
def random_bits(seed, target, N: tl.constexpr, WIDE: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    offset = at.to(tl.int64) * 5000000000 if WIDE else at
    a, b, c, d = tl.randint4x(seed, offset)
    tl.store(target + at * 4, a)
    tl.store(target + at * 4 + 1, b)
    tl.store(target + at * 4 + 2, c)
    tl.store(target + at * 4 + 3, d)


@jit
def random_long(seed, target, N: tl.constexpr):
    """Philox with words of 64 bits."""
    at = tl.arange(0, N)
    zero = at.to(tl.int64) * 0
    a, b, c, d = tl.philox(seed, at.to(tl.int64), zero, zero, zero)
    tl.store(target + at, a ^ b ^ c ^ d)


@jit
def random_floats(seed, uniform, bell, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(uniform + at, tl.rand(seed, at))
    tl.store(bell + at, tl.randn(seed, at))


@jit
def dropout(source, target, seed, p, scale, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    kept = tl.rand(seed, at) > p
    tl.store(target + at, tl.where(kept, tl.load(source + at) * scale, 0.0))


def philox(seed, offsets, bits=32):
    """Philox4x32-10 and Philox4x64-10 of Salmon et al., 2011, on Python's integers: four words for each offset."""
    key_steps, factors = {
        32: ((0x9E3779B9, 0xBB67AE85), (0xD2511F53, 0xCD9E8D57)),
        64: ((0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B), (0xD2E7470EE14C6C93, 0xCA5A826395121157)),
    }[bits]
    mask = (1 << bits) - 1
    rows = []
    for offset in map(int, offsets):
        c = [offset & mask, offset >> bits & mask, 0, 0]
        k = [seed & mask, seed >> bits & mask]
        for _ in range(10):
            high = [(factors[n] * c[2 * n]) >> bits for n in (0, 1)]
            low = [(factors[n] * c[2 * n]) & mask for n in (0, 1)]
            c = [high[1] ^ c[1] ^ k[0], low[1], high[0] ^ c[3] ^ k[1], low[0]]
            k = [(k[n] + key_steps[n]) & mask for n in (0, 1)]
        rows.append(c)
    return np.array(rows, f"u{bits // 8}")


def uniforms(words):
    """Triton's map of 32 bits to [0, 1): a negative number's complement, times a float below 2^-31; two roundings."""
    signed = words.astype(np.int32)
    return np.where(signed < 0, ~signed, signed).astype(np.float64) * np.float32(4.6566127342e-10).astype(np.float64)


def cases():
    for wide in (False, True):
        seed = 0x123456789ABCDEF if wide else 42
        offsets = np.arange(2 * N) * (5000000000 if wide else 1)
        yield Case(
            f"random_bits.{'i64' if wide else 'i32'}",
            random_bits,
            (2,),
            {"seed": Scalar(formats.i64, seed), "target": empty(formats.u32, (2 * N, 4))},
            lambda s=seed, o=offsets: {"target": Exact(philox(s, o))},
            {"N": N, "WIDE": wide},
        )
    words64 = philox(99, np.arange(N), 64)
    yield Case(
        "random_long",
        random_long,
        (1,),
        {"seed": Scalar(formats.i64, 99), "target": empty(formats.u64, N)},
        lambda: {"target": Exact(np.bitwise_xor.reduce(words64, 1))},
        {"N": N},
    )

    words = philox(7, np.arange(N))
    u = uniforms(words)

    def expected():
        """Box and Muller's: the root of a logarithm (5 roundings, one unit more near 1), times a cosine that is off by
        the rounding of its argument, up to 2 pi."""
        first, second = np.maximum(1e-7, u[:, 0]), u[:, 1]
        radius = np.sqrt(-2 * np.log(first))
        unit = formats.f32.unit
        radius_error = (5 * radius + 2 / np.maximum(radius, 1e-3)) * unit
        return {
            "uniform": Close(u[:, 0], 2 * unit * u[:, 0]),
            "bell": Close(radius * np.cos(2 * np.pi * second), radius_error + radius * 16 * unit),
        }

    yield Case(
        "random_floats",
        random_floats,
        (1,),
        {"seed": 7, "uniform": empty(formats.f32, N), "bell": empty(formats.f32, N)},
        expected,
        {"N": N},
    )
    source = normal(formats.f32, 2 * N)
    kept = uniforms(philox(2024, np.arange(2 * N))[:, 0]) > 0.25
    scaled = np.where(kept, source.raw * np.float32(4 / 3), np.float32(0))
    yield Case(
        "dropout",
        dropout,
        (2,),
        {"source": source, "target": empty(formats.f32, 2 * N), "seed": 2024, "p": 0.25, "scale": 4 / 3},
        lambda: {"target": Exact(scaled)},
        {"N": N},
    )
