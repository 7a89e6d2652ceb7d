"""Matrix products of one tile: every type and shape, plain, transposed, batched and scaled by blocks.

Small whole numbers give sums that are exact in float32 in every order, so that one wrong place shows. With others, the
K products and sums each round once: K + 1 roundings of the sum of sizes, for products that float32 holds exactly."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import Array, bits, empty, normal, whole
from support.case import Case, Close, Exact
from support.language import jit, tl
from support.objects import ARCHS


@jit
def product(
    a,
    b,
    c,
    d,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    A_TURNED: tl.constexpr,
    B_TURNED: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """d = a b + c, where a and b may be transposed in memory."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    at = k[None, :] * M + m[:, None] if A_TURNED else m[:, None] * K + k[None, :]
    bt = n[None, :] * K + k[:, None] if B_TURNED else k[:, None] * N + n[None, :]
    place = m[:, None] * N + n[None, :]
    x = tl.dot(
        tl.load(a + at), tl.load(b + bt), tl.load(c + place), input_precision=PRECISION, out_dtype=c.dtype.element_ty
    )
    tl.store(d + place, x)


def product_case(
    name, format, m, n, k, exact=True, turned="", precision=None, warps=4, options=None, units=1.0, **more
):
    result = formats.i32 if format in (formats.i8,) else formats.f64 if format is formats.f64 else formats.f32
    if exact:
        most = {formats.e5m2: 3, formats.e5m2fnuz: 3}.get(format, 7)
        a, b, c = (
            whole(format, (m, k), -most, most, 1),
            whole(format, (k, n), -most, most, 2),
            whole(result, (m, n), -99, 99, 3),
        )
    else:
        a, b, c = normal(format, (m, k), 1), normal(format, (k, n), 2), normal(result, (m, n), 3)

    def expected():
        x, y, z = a.values, b.values, c.values
        if result is formats.i32:
            return {"d": Exact(x.astype(np.int32) @ y.astype(np.int32) + z)}
        total = x.astype(np.float64) @ y.astype(np.float64) + z
        size = np.abs(x) @ np.abs(y) + np.abs(z)
        return {"d": Exact(result.encode(total)) if exact else Close(total, (k + units) * result.unit * size)}

    stored = {"a": turn(a) if "a" in turned else a, "b": turn(b) if "b" in turned else b}
    return Case(
        f"product.{name}",
        product,
        (1,),
        stored | {"c": c, "d": empty(result, (m, n))},
        expected,
        {"M": m, "N": n, "K": k, "A_TURNED": "a" in turned, "B_TURNED": "b" in turned, "PRECISION": precision},
        warps=warps,
        options=options or {},
        **more,
    )


def turn(array):
    return Array(array.format, np.ascontiguousarray(array.raw.T))


def products():
    types = (formats.f16, formats.bf16, formats.f32, formats.f64, formats.i8, *formats.eights)
    for format in types:
        for m, n, k in ((16, 16, 16), (32, 32, 64), (64, 32, 32), (16, 64, 128)):
            yield product_case(f"{format.name}.{m}x{n}x{k}", format, m, n, k)
        yield product_case(f"{format.name}.one_wave", format, 32, 32, 32, warps=1)
        for side in (16, 32):
            yield product_case(
                f"{format.name}.matrix{side}", format, 64, 64, 32, options={"matrix_instr_nonkdim": side}
            )
        for turned in ("a", "b", "ab"):
            yield product_case(f"{format.name}.turned_{turned}", format, 32, 64, 32, turned=turned)
        yield product_case(f"{format.name}.tiny", format, 4, 8, 4, warps=1)
    for format in (formats.f16, formats.bf16, formats.f32, formats.f64):
        yield product_case(f"{format.name}.normal", format, 64, 64, 64, exact=False)


def split_products():
    """f32 as sums of two or three bf16, or rounded to xf32's 11 bits: the parts that are dropped, in units of f32.
    Of bf16x3 what is left of an operand after two parts is 2^-16, twice; bf16x6 keeps 2^-24."""
    units = {"bf16x3": 2.0**24 * 2**-14, "bf16x6": 64, "tf32": 2.0**24 * 2**-10}
    for precision, left in units.items():
        refused = {}
        if precision == "tf32":
            refused = {arch: "input_precision must be one of" for arch in ARCHS if arch != "gfx942"}
        yield product_case(
            f"f32.{precision}", formats.f32, 32, 32, 32, exact=False, precision=precision, units=left, refused=refused
        )


@jit
def product_of_types(a, b, d, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]))
    tl.store(d + m[:, None] * N + n[None, :], x)


def products_of_two_types():
    for first, second in (
        (formats.e4m3, formats.e5m2),
        (formats.e5m2, formats.e4m3),
        (formats.e4m3fnuz, formats.e5m2fnuz),
    ):
        a, b = whole(first, (32, 64), -3, 3, 1), whole(second, (64, 32), -3, 3, 2)
        yield Case(
            f"product_of_types.{first.name}.{second.name}",
            product_of_types,
            (1,),
            {"a": a, "b": b, "d": empty(formats.f32, (32, 32))},
            lambda a=a, b=b: {"d": Exact((a.values @ b.values).astype(np.float32))},
            {"M": 32, "N": 32, "K": 64},
        )


@jit
def batched(a, b, d, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch = tl.arange(0, B)[:, None, None]
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + (batch * M + m[None, :, None]) * K + k[None, None, :])
    y = tl.load(b + (batch * K + k[None, :, None]) * N + n[None, None, :])
    tl.store(d + (batch * M + m[None, :, None]) * N + n[None, None, :], tl.dot(x, y))


def batches():
    for format in (formats.f16, formats.bf16, formats.f32):
        a, b = whole(format, (4, 16, 32), -9, 9, 1), whole(format, (4, 32, 16), -9, 9, 2)
        yield Case(
            f"batched.{format.name}",
            batched,
            (1,),
            {"a": a, "b": b, "d": empty(formats.f32, (4, 16, 16))},
            lambda a=a, b=b: {"d": Exact((a.values @ b.values).astype(np.float32))},
            {"B": 4, "M": 16, "N": 16, "K": 32},
        )


@jit
def chained(a, b, c, d, N: tl.constexpr):
    """(a b) c: the first result becomes an operand, through LDS or lane exchange."""
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    x = tl.dot(tl.load(a + i * N + j), tl.load(b + i * N + j))
    tl.store(d + i * N + j, tl.dot(x.to(c.dtype.element_ty), tl.load(c + i * N + j)))


def chains():
    for format in (formats.f16, formats.bf16):
        for n, hints in ((16, True), (32, True), (64, True), (32, False), (64, False)):
            a, b, c = (whole(format, (n, n), -1, 1, seed) for seed in (1, 2, 3))
            yield Case(
                f"chained.{format.name}.{n}{'' if hints else '.plain'}",
                chained,
                (1,),
                {"a": a, "b": b, "c": c, "d": empty(formats.f32, (n, n))},
                lambda a=a, b=b, c=c: {"d": Exact((a.values @ b.values @ c.values).astype(np.float32))},
                {"N": n},
                hints=hints,
            )


@jit
def scaled(
    a,
    a_scale,
    b,
    b_scale,
    d,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    A_PER_BYTE: tl.constexpr,
    B_PER_BYTE: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
):
    """Blocks of 32 elements along K share a power of two; elements of 4 bits are in pairs."""
    m, n, block = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ka, kb = tl.arange(0, K // A_PER_BYTE), tl.arange(0, K // B_PER_BYTE)
    x = tl.load(a + m[:, None] * (K // A_PER_BYTE) + ka[None, :])
    y = tl.load(b + kb[:, None] * N + n[None, :])
    xs = tl.load(a_scale + m[:, None] * (K // 32) + block[None, :])
    ys = tl.load(b_scale + n[:, None] * (K // 32) + block[None, :])
    tl.store(d + m[:, None] * N + n[None, :], tl.dot_scaled(x, xs, A_FORMAT, y, ys, B_FORMAT))


FOURS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def operand(kind, shape, axis, seed):
    """An array for `kind` and its values; pairs of 4 bits are along `axis`, the first in the low half."""
    if kind != "e2m1":
        format = {"e4m3": formats.e4m3, "e5m2": formats.e5m2}[kind]
        array = whole(format, shape, -3, 3, seed)
        return array, array.values
    half = tuple(size // 2 if n == axis else size for n, size in enumerate(shape))
    array = bits(formats.u8, half, seed)
    return array, np.stack([FOURS[array.raw & 15], FOURS[array.raw >> 4]], axis + 1).reshape(shape)


def scaled_products():
    """Scales are powers of two near 1, values have few bits: every sum is exact."""
    for a_kind, b_kind in (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e2m1"), ("e2m1", "e4m3"), ("e5m2", "e2m1")):
        for m, n, k in ((32, 32, 128), (64, 16, 256)):
            a, x = operand(a_kind, (m, k), 1, 1)
            b, y = operand(b_kind, (k, n), 0, 2)
            a_scale, b_scale = (
                whole(formats.u8, (m, k // 32), 125, 129, 3),
                whole(formats.u8, (n, k // 32), 125, 129, 4),
            )

            def expected(x=x, y=y, p=a_scale.raw, q=b_scale.raw):
                p, q = (np.repeat(2.0 ** (s.astype(int) - 127), 32, 1) for s in (p, q))
                return {"d": Exact(((x * p) @ (y * q.T)).astype(np.float32))}

            yield Case(
                f"scaled.{a_kind}.{b_kind}.{m}x{n}x{k}",
                scaled,
                (1,),
                {"a": a, "a_scale": a_scale, "b": b, "b_scale": b_scale, "d": empty(formats.f32, (m, n))},
                expected,
                {
                    "A_FORMAT": a_kind,
                    "B_FORMAT": b_kind,
                    "A_PER_BYTE": 1 + (a_kind == "e2m1"),
                    "B_PER_BYTE": 1 + (b_kind == "e2m1"),
                    "M": m,
                    "N": n,
                    "K": k,
                },
            )


def cases():
    for group in (products, split_products, products_of_two_types, batches, chains, scaled_products):
        yield from group()
