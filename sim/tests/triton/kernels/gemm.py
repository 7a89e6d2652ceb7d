"""Matrix products: loops over K with ragged ends, pipelined or not, split over workgroups, of packed weights."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import bits, empty, normal, of, uniform, whole, zeros
from support.case import Case, Close, Exact
from support.language import jit, tl


@jit
def gemm(
    a,
    b,
    c,
    M,
    N,
    K,
    a_stride,
    b_stride,
    c_stride,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    """Workgroups go down GROUP rows of tiles before the next column; the ends of all three dimensions are masked."""
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    tile_m, tile_n = tl.swizzle2d(tl.program_id(0) // columns, tl.program_id(0) % columns, rows, columns, GROUP)
    m, n, k = tile_m * BM + tl.arange(0, BM), tile_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(
            a + m[:, None] * a_stride + (start + k)[None, :],
            mask=(m[:, None] < M) & (start + k[None, :] < K),
            other=0.0,
        )
        y = tl.load(
            b + (start + k)[:, None] * b_stride + n[None, :],
            mask=(start + k[:, None] < K) & (n[None, :] < N),
            other=0.0,
        )
        sums = tl.dot(x, y, sums)
    tl.store(
        c + m[:, None] * c_stride + n[None, :], sums.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N)
    )


def gemms():
    """Ragged sizes, with rows that begin anywhere; odd ones, whose rows begin in the middle of a dword; and even ones,
    whose loads are 16 bytes wide. Up to three stages in flight."""
    ragged, odd, even = (50, 70, 100), (47, 71, 99), (64, 96, 128)
    for format in (formats.f16, formats.bf16, formats.f32, formats.e4m3, formats.e5m2fnuz):
        result = format if format in (formats.f16, formats.bf16) else formats.f32
        for (m, n, k), stages, hints in (
            (ragged, 1, True),
            (ragged, 2, False),
            (odd, 2, False),
            (even, 2, True),
            (even, 3, True),
            (even, 1, False),
        ):
            a, b = whole(format, (m, k), -1, 1, 1), whole(format, (k, n), -1, 1, 2)
            yield Case(
                f"gemm.{format.name}.{m}x{n}x{k}.stages{stages}{'' if hints else '.plain'}",
                gemm,
                (-(-m // 32) * -(-n // 32),),
                {
                    "a": a,
                    "b": b,
                    "c": empty(result, (m, n)),
                    "M": m,
                    "N": n,
                    "K": k,
                    "a_stride": k,
                    "b_stride": n,
                    "c_stride": n,
                },
                lambda a=a, b=b, r=result: {"c": Exact(r.encode(a.values @ b.values))},
                {"BM": 32, "BN": 32, "BK": 32, "GROUP": 2},
                hints=hints,
                options={"num_stages": stages},
                varies=("gfx1100",) if format is formats.f32 and (m, n, k) == even and stages == 2 else (),
            )
    a, b = normal(formats.bf16, (64, 256), 1), normal(formats.bf16, (256, 64), 2)

    def expected():
        size = np.abs(a.values) @ np.abs(b.values)
        return {"c": Close(a.values @ b.values, 257 * formats.f32.unit * size)}

    yield Case(
        "gemm.bf16.normal",
        gemm,
        (1,),
        {
            "a": a,
            "b": b,
            "c": empty(formats.bf16, (64, 64)),
            "M": 64,
            "N": 64,
            "K": 256,
            "a_stride": 256,
            "b_stride": 64,
            "c_stride": 64,
        },
        expected,
        {"BM": 64, "BN": 64, "BK": 64, "GROUP": 1},
        options={"num_stages": 2},
    )


@jit
def gemm_split(a, b, c, N: tl.constexpr, K: tl.constexpr, SPLIT: tl.constexpr, BK: tl.constexpr):
    """Each workgroup takes every SPLIT-th block of K and adds its part atomically."""
    i, k = tl.arange(0, N), tl.arange(0, BK)
    sums = tl.zeros((N, N), tl.float32)
    for start in range(tl.program_id(0) * BK, K, SPLIT * BK):
        x = tl.load(a + i[:, None] * K + start + k[None, :])
        sums = tl.dot(x, tl.load(b + (start + k)[:, None] * N + i[None, :]), sums)
    tl.atomic_add(c + i[:, None] * N + i[None, :], sums, sem="relaxed")


def splits():
    a, b = whole(formats.f16, (32, 160), -9, 9, 1), whole(formats.f16, (160, 32), -9, 9, 2)
    for hints in (True, False):
        yield Case(
            f"gemm_split{'' if hints else '.plain'}",
            gemm_split,
            (3,),
            {"a": a, "b": b, "c": zeros(formats.f32, (32, 32))},
            lambda: {"c": Exact((a.values @ b.values).astype(np.float32))},
            {"N": 32, "K": 160, "SPLIT": 3, "BK": 16},
            hints=hints,
        )


@jit
def gemm_four_bits(a, packed, scale, zero, c, K: tl.constexpr, N: tl.constexpr, GROUP: tl.constexpr):
    """Weights of 4 bits, two a byte along K, with a scale and a zero point for each GROUP of K and each column."""
    m, n = tl.arange(0, 16), tl.arange(0, N)
    half = tl.arange(0, GROUP // 2)
    sums = tl.zeros((16, N), tl.float32)
    for block in range(0, K // GROUP):
        byte = tl.load(packed + (block * (GROUP // 2) + half)[:, None] * N + n[None, :])
        both = tl.permute(tl.join(byte & 15, byte >> 4), 0, 2, 1)
        weight = tl.reshape(both, GROUP, N).to(tl.float16)
        weight = (weight - tl.load(zero + block * N + n)[None, :]) * tl.load(scale + block * N + n)[None, :]
        x = tl.load(a + m[:, None] * K + block * GROUP + tl.arange(0, GROUP)[None, :])
        sums = tl.dot(x, weight, sums)
    tl.store(c + m[:, None] * N + n[None, :], sums)


def four_bits():
    k, n, group = 128, 32, 32
    a, packed = whole(formats.f16, (16, k), -3, 3, 1), bits(formats.u8, (k // 2, n), 2)
    scale = of(formats.f16, 2.0 ** np.random.default_rng(3).integers(-2, 2, (k // group, n)))
    zero = whole(formats.f16, (k // group, n), 0, 15, 4)
    weight = np.stack([packed.raw & 15, packed.raw >> 4], 1).reshape(k, n).astype(np.float64)
    weight = (weight - np.repeat(zero.values, group, 0)) * np.repeat(scale.values, group, 0)
    yield Case(
        "gemm_four_bits",
        gemm_four_bits,
        (1,),
        {"a": a, "packed": packed, "scale": scale, "zero": zero, "c": empty(formats.f32, (16, n))},
        lambda: {"c": Exact((a.values @ weight).astype(np.float32))},
        {"K": k, "N": n, "GROUP": group},
    )


@jit
def gemm_eight_bits(a, a_scale, b, b_scale, c, K: tl.constexpr, N: tl.constexpr):
    """int8 with a scale a row of a and a column of b."""
    i, k = tl.arange(0, N), tl.arange(0, 32)
    sums = tl.zeros((N, N), tl.int32)
    for start in range(0, K, 32):
        x = tl.load(a + i[:, None] * K + start + k[None, :])
        sums = tl.dot(x, tl.load(b + (start + k)[:, None] * N + i[None, :]), sums)
    result = sums.to(tl.float32) * tl.load(a_scale + i)[:, None] * tl.load(b_scale + i)[None, :]
    tl.store(c + i[:, None] * N + i[None, :], result.to(c.dtype.element_ty))


def eight_bits():
    """Two products round, and the conversion of the exact sum does not."""
    a, b = bits(formats.i8, (32, 96), 1), bits(formats.i8, (96, 32), 2)
    p, q = uniform(formats.f32, 32, 0.001, 0.1, 3), uniform(formats.f32, 32, 0.001, 0.1, 4)

    def expected():
        total = (a.raw.astype(np.int64) @ b.raw.astype(np.int64)) * p.values[:, None] * q.values[None, :]
        return {"c": Close(total, 2 * formats.f32.unit * np.abs(total))}

    yield Case(
        "gemm_eight_bits",
        gemm_eight_bits,
        (1,),
        {"a": a, "a_scale": p, "b": b, "b_scale": q, "c": empty(formats.bf16, (32, 32))},
        expected,
        {"K": 96, "N": 32},
    )


@jit
def gated(x, up, gate, target, K: tl.constexpr, N: tl.constexpr):
    """silu(x gate) * (x up): two products share an operand."""
    m, n, k = tl.arange(0, 16), tl.program_id(0) * 32 + tl.arange(0, 32), tl.arange(0, 32)
    ups, gates = tl.zeros((16, 32), tl.float32), tl.zeros((16, 32), tl.float32)
    for start in range(0, K, 32):
        rows = tl.load(x + m[:, None] * K + start + k[None, :])
        ups = tl.dot(rows, tl.load(up + (start + k)[:, None] * N + n[None, :]), ups)
        gates = tl.dot(rows, tl.load(gate + (start + k)[:, None] * N + n[None, :]), gates)
    tl.store(target + m[:, None] * N + n[None, :], (ups * gates * tl.sigmoid(gates)).to(target.dtype.element_ty))


def gates():
    """The products are exact; sigmoid is a product, an exp2, a sum and a quotient, and two more products follow."""
    x = whole(formats.f16, (16, 64), -1, 1, 1)
    up, gate = whole(formats.f16, (64, 64), -2, 2, 2), whole(formats.f16, (64, 64), -1, 1, 3)

    def expected():
        g = x.values @ gate.values
        result = (x.values @ up.values) * g / (1 + np.exp(-g))
        return {"target": Close(result, (10 + 2 * np.abs(g)) * formats.f32.unit * np.abs(result))}

    yield Case(
        "gated",
        gated,
        (2,),
        {"x": x, "up": up, "gate": gate, "target": empty(formats.f16, (16, 64))},
        expected,
        {"K": 64, "N": 64},
    )


@jit
def persistent(a, b, c, TILES: tl.constexpr, K: tl.constexpr, N: tl.constexpr):
    """Few workgroups walk over many tiles: the loop over K is inside another that the compiler may flatten."""
    for tile in tl.range(tl.program_id(0), TILES * TILES, tl.num_programs(0), flatten=True):
        m, n = tile // TILES * 16 + tl.arange(0, 16), tile % TILES * 16 + tl.arange(0, 16)
        sums = tl.zeros((16, 16), tl.float32)
        for start in range(0, K, 32):
            k = start + tl.arange(0, 32)
            sums = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]), sums)
        tl.store(c + m[:, None] * N + n[None, :], sums)


def walks():
    a, b = whole(formats.bf16, (64, 64), -3, 3, 1), whole(formats.bf16, (64, 64), -3, 3, 2)
    yield Case(
        "persistent",
        persistent,
        (3,),
        {"a": a, "b": b, "c": empty(formats.f32, (64, 64))},
        lambda: {"c": Exact((a.values @ b.values).astype(np.float32))},
        {"TILES": 4, "K": 64, "N": 64},
        warps=1,
    )


@jit
def described_gemm(a, b, c, M, N, K, BLOCK: tl.constexpr):
    """Tiles by tensor descriptors, whose ends read as zero."""
    ad = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BLOCK, BLOCK])
    bd = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BLOCK, BLOCK])
    cd = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BLOCK, BLOCK])
    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        sums = tl.dot(ad.load([m, start]), bd.load([start, n]), sums)
    cd.store([m, n], sums.to(c.dtype.element_ty))


def described():
    a, b = whole(formats.f16, (40, 72), -3, 3, 1), whole(formats.f16, (72, 56), -3, 3, 2)
    yield Case(
        "described_gemm",
        described_gemm,
        (2, 2),
        {"a": a, "b": b, "c": empty(formats.f16, (40, 56)), "M": 40, "N": 56, "K": 72},
        lambda: {"c": Exact((a.values @ b.values).astype(np.float16))},
        {"BLOCK": 32},
    )


def cases():
    for group in (gemms, splits, four_bits, eight_bits, gates, walks, described):
        yield from group()
