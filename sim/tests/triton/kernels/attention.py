"""Attention: forward, and backward in three kernels.

Tensors are [batch, sequence, head, d]. Errors, with u of float32 and v of the type of the operands: a logit is a sum of
d products, so it is off by e = (d + 8) u scale sum |q| |k|, and its exponential by that much of itself; P and dS become
operands and round once, by v; sums over n keys or queries take n u of the sum of sizes. Products of f32 are asked for
as such: on gfx942 the compiler would take xf32."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from support import formats
from support.arrays import Array, empty, normal, of
from support.case import Case, Close
from support.language import jit, tl

U = formats.f32.unit


@jit
def forward(
    q,
    k,
    v,
    out,
    lse,
    stride_q,
    stride_k,
    heads,
    group,
    queries,
    keys,
    scale,
    CAUSAL: tl.constexpr,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """A tile of queries against all keys; `group` heads of queries share one of keys."""
    tl.assume(stride_q >= 0)
    tl.assume(stride_q < 1 << 20)
    tl.assume(stride_k >= 0)
    tl.assume(stride_k < 1 << 20)
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    q_base = batch.to(tl.int64) * queries * stride_q + head * D
    k_base = batch.to(tl.int64) * keys * stride_k + head // group * D
    x = tl.load(q + q_base + m[:, None] * stride_q + d[None, :], mask=m[:, None] < queries, other=0.0)
    most, total = tl.full([BM], float("-inf"), tl.float32), tl.zeros([BM], tl.float32)
    sums = tl.zeros([BM, D], tl.float32)
    offset = keys - queries
    end = tl.minimum(keys, (tl.program_id(0) + 1) * BM + offset) if CAUSAL else keys
    for start in range(0, end, BN):
        n = start + tl.arange(0, BN)
        y = tl.load(k + k_base + n[None, :] * stride_k + d[:, None], mask=n[None, :] < keys, other=0.0)
        logit = tl.dot(x, y, input_precision="ieee") * (scale * 1.4426950408889634)
        allowed = n[None, :] < keys
        if CAUSAL:
            allowed = allowed & (n[None, :] <= m[:, None] + offset)
        logit = tl.where(allowed, logit, float("-inf"))
        new = tl.maximum(most, tl.max(logit, 1))
        base = tl.where(new == float("-inf"), 0.0, new)
        p = tl.exp2(logit - base[:, None])
        correction = tl.exp2(most - base)
        z = tl.load(v + k_base + n[:, None] * stride_k + d[None, :], mask=n[:, None] < keys, other=0.0)
        sums = tl.dot(p.to(z.dtype), z, sums * correction[:, None], input_precision="ieee")
        total = total * correction + tl.sum(p, 1)
        most = new
    empty = total == 0
    sums = sums / tl.where(empty, 1.0, total)[:, None]
    natural = tl.where(empty, float("-inf"), (most + tl.log2(total)) / 1.4426950408889634)
    tl.store(lse + tl.program_id(1) * queries + m, natural, mask=m < queries)
    tl.store(
        out + q_base + m[:, None] * stride_q + d[None, :], sums.to(out.dtype.element_ty), mask=m[:, None] < queries
    )


@jit
def backward_delta(out, dout, delta, rows, D: tl.constexpr, BM: tl.constexpr):
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    at = m[:, None] * D + d[None, :]
    o = tl.load(out + at, mask=m[:, None] < rows, other=0.0).to(tl.float32)
    g = tl.load(dout + at, mask=m[:, None] < rows, other=0.0).to(tl.float32)
    tl.store(delta + m, tl.sum(o * g, 1), mask=m < rows)


@jit
def tile(pointer, rows, base, stride, count, D: tl.constexpr):
    d = tl.arange(0, D)
    return tl.load(pointer + base + rows[:, None] * stride + d[None, :], mask=rows[:, None] < count, other=0.0)


@jit
def weights(x, y, m, n, rows_lse, queries, keys, scale, CAUSAL: tl.constexpr):
    """P, from logits and the logarithm of their sum."""
    logit = tl.dot(x, tl.trans(y), input_precision="ieee") * (scale * 1.4426950408889634)
    allowed = (m[:, None] < queries) & (n[None, :] < keys)
    if CAUSAL:
        allowed = allowed & (n[None, :] <= m[:, None] + keys - queries)
    return tl.where(allowed, tl.exp2(logit - rows_lse[:, None] * 1.4426950408889634), 0.0)


@jit
def backward_keys(
    q,
    k,
    v,
    dout,
    lse,
    delta,
    dk,
    dv,
    stride,
    heads,
    queries,
    keys,
    scale,
    CAUSAL: tl.constexpr,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """dK and dV of a tile of keys, from all queries."""
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    n, d = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    q_base, k_base = batch * queries * stride + head * D, batch * keys * stride + head * D
    y, z = tile(k, n, k_base, stride, keys, D), tile(v, n, k_base, stride, keys, D)
    sums_k, sums_v = tl.zeros([BN, D], tl.float32), tl.zeros([BN, D], tl.float32)
    for start in range(0, queries, BM):
        m = start + tl.arange(0, BM)
        x, g = tile(q, m, q_base, stride, queries, D), tile(dout, m, q_base, stride, queries, D)
        row = tl.program_id(1) * queries + m
        p = weights(x, y, m, n, tl.load(lse + row, mask=m < queries, other=0.0), queries, keys, scale, CAUSAL)
        sums_v = tl.dot(tl.trans(p.to(g.dtype)), g, sums_v, input_precision="ieee")
        dp = tl.dot(g, tl.trans(z), input_precision="ieee") - tl.load(delta + row, mask=m < queries, other=0.0)[:, None]
        sums_k = tl.dot(tl.trans((p * dp).to(x.dtype)), x, sums_k, input_precision="ieee")
    at = k_base + n[:, None] * stride + d[None, :]
    tl.store(dv + at, sums_v.to(dv.dtype.element_ty), mask=n[:, None] < keys)
    tl.store(dk + at, (sums_k * scale).to(dk.dtype.element_ty), mask=n[:, None] < keys)


@jit
def backward_queries(
    q,
    k,
    v,
    dout,
    lse,
    delta,
    dq,
    stride,
    heads,
    queries,
    keys,
    scale,
    CAUSAL: tl.constexpr,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    """dQ of a tile of queries, from all keys."""
    batch, head = tl.program_id(1) // heads, tl.program_id(1) % heads
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    q_base, k_base = batch * queries * stride + head * D, batch * keys * stride + head * D
    x, g = tile(q, m, q_base, stride, queries, D), tile(dout, m, q_base, stride, queries, D)
    row = tl.program_id(1) * queries + m
    rows_lse = tl.load(lse + row, mask=m < queries, other=0.0)
    rows_delta = tl.load(delta + row, mask=m < queries, other=0.0)
    sums = tl.zeros([BM, D], tl.float32)
    for start in range(0, keys, BN):
        n = start + tl.arange(0, BN)
        y, z = tile(k, n, k_base, stride, keys, D), tile(v, n, k_base, stride, keys, D)
        p = weights(x, y, m, n, rows_lse, queries, keys, scale, CAUSAL)
        dp = tl.dot(g, tl.trans(z), input_precision="ieee") - rows_delta[:, None]
        sums = tl.dot((p * dp).to(y.dtype), y, sums, input_precision="ieee")
    at = q_base + m[:, None] * stride + d[None, :]
    tl.store(dq + at, (sums * scale).to(dq.dtype.element_ty), mask=m[:, None] < queries)


@dataclass
class Problem:
    format: object
    batch: int
    heads: int
    group: int
    queries: int
    keys: int
    d: int
    causal: bool

    def __post_init__(self):
        f, d = self.format, self.d
        q_shape = (self.batch, self.queries, self.heads, d)
        k_shape = (self.batch, self.keys, self.heads // self.group, d)
        self.q, self.dout = normal(f, q_shape, 1), normal(f, q_shape, 4)
        self.k, self.v = normal(f, k_shape, 2), normal(f, k_shape, 3)
        self.scale = d**-0.5

    @property
    def name(self):
        mask = ".causal" if self.causal else ""
        return f"{self.format.name}.b{self.batch}h{self.heads}g{self.group}q{self.queries}k{self.keys}d{self.d}{mask}"

    def of_heads(self, array):
        """Values as [batch, heads of queries, sequence, d]."""
        values = array.values.transpose(0, 2, 1, 3)
        return np.repeat(values, self.heads // values.shape[1], 1)

    def logits(self):
        """Logits in natural units, -inf where masked, and their error."""
        q, k = self.of_heads(self.q), self.of_heads(self.k).swapaxes(2, 3)
        s, e = q @ k * self.scale, np.abs(q) @ np.abs(k) * self.scale * (self.d + 8) * U
        if self.causal:
            m, n = np.arange(self.queries)[:, None], np.arange(self.keys)[None, :]
            s = np.where(n <= m + self.keys - self.queries, s, -np.inf)
        return s, e + 4 * U * np.abs(np.where(np.isinf(s), 0, s))

    def forward(self):
        """out, lse, P and the largest error of a logit in each row."""
        s, e = self.logits()
        top = s.max(-1, keepdims=True)
        top = np.where(np.isinf(top), 0, top)
        with np.errstate(divide="ignore", invalid="ignore"):
            lse = (top + np.log(np.exp(s - top).sum(-1, keepdims=True)))[..., 0]
            p = np.where(np.isinf(lse)[..., None], 0, np.exp(s - lse[..., None]))
        return p @ self.of_heads(self.v), lse, p, e.max(-1, keepdims=True)

    def forward_expected(self):
        out, lse, p, e = self.forward()
        error = (self.format.unit + 2 * e + (self.keys + 16) * U) * (p @ np.abs(self.of_heads(self.v)))
        finite = np.where(np.isinf(lse), 0, lse)
        return {
            "out": Close(out.transpose(0, 2, 1, 3), error.transpose(0, 2, 1, 3)),
            "lse": Close(lse, e[..., 0] + (self.keys + 8) * U + 4 * U * np.abs(finite)),
        }

    def backward_arrays(self):
        out, lse, _, _ = self.forward()
        delta = (out * self.of_heads(self.dout)).sum(-1)
        return Array(formats.f32, lse.astype(np.float32)), Array(formats.f32, delta.astype(np.float32))

    def backward_expected(self, lse, delta):
        """Gradients from the very lse and delta that the kernels read."""
        q, k, v, g = (self.of_heads(a) for a in (self.q, self.k, self.v, self.dout))
        s, e = self.logits()
        p = np.exp(s - lse.values[..., None])
        dp = g @ v.swapaxes(2, 3) - delta.values[..., None]
        ds = p * dp
        size = np.abs(g) @ np.abs(v).swapaxes(2, 3) + np.abs(delta.values[..., None])
        p_error = p * (self.format.unit + e + 16 * U)
        ds_error = p * size * (self.d + 16) * U + (self.format.unit + e + 16 * U) * np.abs(ds)
        count, sizes = (self.queries + self.keys + 4) * U, np.abs(ds)
        rows = {
            "dv": (p.swapaxes(2, 3) @ g, (p_error + count * p).swapaxes(2, 3) @ np.abs(g)),
            "dk": (
                ds.swapaxes(2, 3) @ q * self.scale,
                (ds_error + count * sizes).swapaxes(2, 3) @ np.abs(q) * self.scale,
            ),
            "dq": (ds @ k * self.scale, (ds_error + count * sizes) @ np.abs(k) * self.scale),
        }
        return {name: Close(*(x.transpose(0, 2, 1, 3) for x in pair)) for name, pair in rows.items()}


def forwards():
    problems = [
        (Problem(formats.f16, 1, 2, 1, 48, 64, 64, False), 32, 32),
        (Problem(formats.f16, 2, 2, 2, 50, 70, 64, True), 64, 32),
        (Problem(formats.bf16, 1, 2, 2, 70, 50, 32, True), 32, 16),
        (Problem(formats.bf16, 1, 1, 1, 64, 96, 128, True), 64, 32),
        (Problem(formats.f32, 1, 2, 1, 40, 33, 32, True), 32, 32),
        (Problem(formats.f16, 1, 1, 1, 16, 40, 256, False), 16, 16),
    ]
    for p, bm, bn in problems:
        for hints, stages in ((True, 1), (True, 2), (False, 1)):
            shape = (p.batch, p.queries, p.heads, p.d)
            yield Case(
                f"forward.{p.name}.stages{stages}{'' if hints else '.plain'}",
                forward,
                (-(-p.queries // bm), p.batch * p.heads),
                {
                    "q": p.q,
                    "k": p.k,
                    "v": p.v,
                    "out": empty(p.format, shape),
                    "lse": empty(formats.f32, (p.batch, p.heads, p.queries)),
                    "stride_q": p.heads * p.d,
                    "stride_k": p.heads // p.group * p.d,
                    "heads": p.heads,
                    "group": p.group,
                    "queries": p.queries,
                    "keys": p.keys,
                    "scale": p.scale,
                },
                p.forward_expected,
                {"CAUSAL": p.causal, "D": p.d, "BM": bm, "BN": bn},
                hints=hints,
                options={"num_stages": stages},
            )


def backwards():
    for p, bm, bn in (
        (Problem(formats.f16, 1, 2, 1, 48, 64, 64, False), 32, 32),
        (Problem(formats.bf16, 2, 1, 1, 50, 70, 32, True), 16, 32),
        (Problem(formats.f32, 1, 1, 1, 40, 48, 32, True), 32, 16),
    ):
        lse, delta = p.backward_arrays()
        arrays = {"q": p.q, "k": p.k, "v": p.v, "dout": p.dout, "lse": lse, "delta": delta}
        numbers = {"stride": p.heads * p.d, "heads": p.heads, "queries": p.queries, "keys": p.keys, "scale": p.scale}
        constants = {"CAUSAL": p.causal, "D": p.d, "BM": bm, "BN": bn}
        k_shape, q_shape = p.k.raw.shape, p.q.raw.shape
        for hints in (True, False):
            end = "" if hints else ".plain"
            yield Case(
                f"backward_keys.{p.name}{end}",
                backward_keys,
                (-(-p.keys // bn), p.batch * p.heads),
                arrays | {"dk": empty(p.format, k_shape), "dv": empty(p.format, k_shape)} | numbers,
                lambda p=p, a=(lse, delta): without(p.backward_expected(*a), "dq"),
                constants,
                hints=hints,
            )
            yield Case(
                f"backward_queries.{p.name}{end}",
                backward_queries,
                (-(-p.queries // bm), p.batch * p.heads),
                arrays | {"dq": empty(p.format, q_shape)} | numbers,
                lambda p=p, a=(lse, delta): {"dq": p.backward_expected(*a)["dq"]},
                constants,
                hints=hints,
            )
        rows, d = int(np.prod(q_shape[:3])), p.d
        out = of(p.format, p.forward()[0].transpose(0, 2, 1, 3))

        def expected(o=out.values, g=p.dout.values, d=d):
            product = (o * g).reshape(-1, d)
            return {"delta": Close(product.sum(1), (d + 1) * U * np.abs(product).sum(1))}

        yield Case(
            f"backward_delta.{p.name}",
            backward_delta,
            (-(-rows // 32),),
            {"out": out, "dout": p.dout, "delta": empty(formats.f32, rows), "rows": rows},
            expected,
            {"D": d, "BM": 32},
        )


def without(results, name):
    return {key: value for key, value in results.items() if key != name}


def cases():
    for group in (forwards, backwards):
        yield from group()
