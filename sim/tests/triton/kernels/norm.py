"""Normalisations and losses of rows, forward and backward.

Errors are counted in roundings of float32 (u = 2^-24): a sum of n numbers has at most n of the sum of sizes, an
exponential 3 + 2 |x| of itself (functions.py), a quotient or root up to 4. Other formats round results once more.

Products are masked before they are summed, also where a factor is 0. On gfx908 a product that the sum takes at once
becomes part of a fused multiply-add with another lane's product: copies of the sum then differ by a rounding, and waves
store them to one address of the LDS."""

from __future__ import annotations

import numpy as np

from support import formats
from support.arrays import Array, empty, normal, uniform, whole, zeros
from support.case import Case, Close, Exact
from support.language import jit, tl

UNIT = formats.f32.unit
SIZES = ((6, 100), (4, 512))


@jit
def layer_norm(x, weight, bias, y, means, scales, D, eps, BLOCK: tl.constexpr):
    """A row at a time; weight counts from 0, as (1 + weight) * normalised."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < D
    v = tl.load(x + row * D + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(v) / D
    centred = v - mean
    scale = tl.rsqrt(tl.sum(tl.where(inside, centred * centred, 0.0)) / D + eps)
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32) + 1.0
    b = tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row * D + at, (centred * scale * w + b).to(y.dtype.element_ty), mask=inside)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)


def normalised(x, eps):
    mean = x.mean(1, keepdims=True)
    scale = 1 / np.sqrt(x.var(1, keepdims=True) + eps)
    return mean, scale, (x - mean) * scale


def layer_norms():
    for format in (formats.f16, formats.bf16, formats.f32):
        for rows, d in SIZES:
            for hints in (True, False):
                x, w, b = normal(format, (rows, d), 1), normal(format, d, 2), normal(format, d, 3)

                def expected(x=x, w=w, b=b, d=d):
                    mean, scale, n = normalised(x.values, 1e-5)
                    size = np.abs(x.values).mean(1, keepdims=True)
                    error = (d * size * scale + (d + 8) * np.abs(n)) * UNIT
                    y = n * (w.values + 1) + b.values
                    return {
                        "y": Close(
                            y, error * np.abs(w.values + 1) + 3 * UNIT * (np.abs(n * (w.values + 1)) + np.abs(y))
                        ),
                        "means": Close(mean[:, 0], d * UNIT * size[:, 0]),
                        "scales": Close(scale[:, 0], (d + 8) * UNIT * scale[:, 0]),
                    }

                yield Case(
                    f"layer_norm.{format.name}.{d}{'' if hints else '.plain'}",
                    layer_norm,
                    (rows,),
                    {
                        "x": x,
                        "weight": w,
                        "bias": b,
                        "y": empty(format, (rows, d)),
                        "means": empty(formats.f32, rows),
                        "scales": empty(formats.f32, rows),
                        "D": d,
                        "eps": 1e-5,
                    },
                    expected,
                    {"BLOCK": 128 if d < 128 else 512},
                    hints=hints,
                )


@jit
def layer_norm_backward(dy, x, weight, means, scales, dx, dweight, dbias, D, BLOCK: tl.constexpr):
    """dx a row at a time; those of weight and bias are added up by all workgroups."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < D
    g = tl.load(dy + row * D + at, mask=inside, other=0.0).to(tl.float32)
    v = tl.load(x + row * D + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(scales + row)
    n = (v - tl.load(means + row)) * scale
    gw = tl.where(inside, g * w, 0.0)
    projection = tl.sum(tl.where(inside, n * gw, 0.0)) / D
    tl.store(dx + row * D + at, ((gw - tl.sum(gw) / D - n * projection) * scale).to(dx.dtype.element_ty), mask=inside)
    tl.atomic_add(dweight + at, g * n, mask=inside)
    tl.atomic_add(dbias + at, g, mask=inside)


def layer_norms_backward():
    for format in (formats.f16, formats.f32):
        rows, d = 6, 100
        x, g, w = normal(format, (rows, d), 1), normal(format, (rows, d), 2), normal(format, d, 3)
        mean, scale, _ = normalised(x.values, 1e-5)
        means, scales = (
            Array(formats.f32, mean[:, 0].astype(np.float32)),
            Array(formats.f32, scale[:, 0].astype(np.float32)),
        )

        def expected(x=x, g=g, w=w, means=means, scales=scales, d=d):
            scale = scales.values[:, None]
            n = (x.values - means.values[:, None]) * scale
            gw = g.values * w.values
            shares = np.abs(gw).mean(1, keepdims=True), np.abs(n * gw).mean(1, keepdims=True)
            dx = (gw - gw.mean(1, keepdims=True) - n * (n * gw).mean(1, keepdims=True)) * scale
            size = (np.abs(gw) + (d + 4) * shares[0] + (d + 8) * np.abs(n) * shares[1]) * scale
            parts = np.abs(g.values * n).sum(0)
            return {
                "dx": Close(dx, 4 * UNIT * size),
                "dweight": Close((g.values * n).sum(0), (len(g.raw) + 4) * UNIT * parts),
                "dbias": Close(g.values.sum(0), len(g.raw) * UNIT * np.abs(g.values).sum(0)),
            }

        yield Case(
            f"layer_norm_backward.{format.name}",
            layer_norm_backward,
            (rows,),
            {
                "dy": g,
                "x": x,
                "weight": w,
                "means": means,
                "scales": scales,
                "dx": empty(format, (rows, d)),
                "dweight": zeros(formats.f32, d),
                "dbias": zeros(formats.f32, d),
                "D": d,
            },
            expected,
            {"BLOCK": 128},
        )


@jit
def rms_norm_blocks(x, weight, y, D, BLOCK: tl.constexpr):
    """Rows longer than a block: two loops over them."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, D, BLOCK):
        v = tl.load(x + row * D + start + at, mask=start + at < D, other=0.0).to(tl.float32)
        squares += v * v
    scale = tl.rsqrt(tl.sum(squares) / D + 1e-6)
    for start in range(0, D, BLOCK):
        inside = start + at < D
        v = tl.load(x + row * D + start + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + start + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + row * D + start + at, (v * scale * w).to(y.dtype.element_ty), mask=inside)


def rms_norms():
    for format in (formats.f16, formats.bf16, formats.f32):
        x, w = normal(format, (3, 700), 1), normal(format, 700, 2)

        def expected(x=x, w=w):
            y = x.values / np.sqrt((x.values**2).mean(1, keepdims=True) + 1e-6) * w.values
            return {"y": Close(y, (700 + 8) * UNIT * np.abs(y))}

        yield Case(
            f"rms_norm_blocks.{format.name}",
            rms_norm_blocks,
            (3,),
            {"x": x, "weight": w, "y": empty(format, (3, 700)), "D": 700},
            expected,
            {"BLOCK": 256},
        )


@jit
def softmax(x, y, D, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * D + at, mask=at < D, other=float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v))
    tl.store(y + row * D + at, (e / tl.sum(e)).to(y.dtype.element_ty), mask=at < D)


@jit
def softmax_online(x, y, log_sums, D, BLOCK: tl.constexpr):
    """The largest number and the sum are corrected as blocks of the row come by."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    most, total = -float("inf"), 0.0
    for start in range(0, D, BLOCK):
        v = tl.load(x + row * D + start + at, mask=start + at < D, other=float("-inf")).to(tl.float32)
        new = tl.maximum(most, tl.max(v))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(v - new))
        most = new
    for start in range(0, D, BLOCK):
        v = tl.load(x + row * D + start + at, mask=start + at < D, other=float("-inf")).to(tl.float32)
        tl.store(y + row * D + start + at, (tl.exp(v - most) / total).to(y.dtype.element_ty), mask=start + at < D)
    tl.store(log_sums + row, most + tl.log(total))


def shares_of(x):
    """Softmax, and its error in units: the exponentials' own, which the sum of D adds to."""
    far = x.max(1, keepdims=True) - x
    e = np.exp(-far)
    y = e / e.sum(1, keepdims=True)
    return y, (12 + x.shape[1] + 4 * far) * UNIT * y


def softmaxes():
    for format in (formats.f16, formats.bf16, formats.f32):
        for rows, d in ((5, 100), (3, 256)):
            x = normal(format, (rows, d), scale=3)

            def expected(x=x):
                return {"y": Close(*shares_of(x.values))}

            yield Case(
                f"softmax.{format.name}.{d}",
                softmax,
                (rows,),
                {"x": x, "y": empty(format, (rows, d)), "D": d},
                expected,
                {"BLOCK": 128 if d < 128 else 256},
            )
        x = normal(format, (3, 300), scale=3)

        def expected_online(x=x):
            top = x.values.max(1)
            sums = top + np.log(np.exp(x.values - top[:, None]).sum(1))
            return {"y": Close(*shares_of(x.values)), "log_sums": Close(sums, 400 * UNIT * (1 + np.abs(sums)))}

        yield Case(
            f"softmax_online.{format.name}",
            softmax_online,
            (3,),
            {"x": x, "y": empty(format, (3, 300)), "log_sums": empty(formats.f32, 3), "D": 300},
            expected_online,
            {"BLOCK": 128},
        )


@jit
def cross_entropy(logits, labels, losses, gradients, V, ignored, BLOCK: tl.constexpr):
    """Loss and gradient of a row; rows with the ignored label have neither."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    if label == ignored:
        tl.store(losses + row, 0.0)
        tl.store(gradients + row * V + at, tl.zeros([BLOCK], tl.float32), mask=at < V)
        return
    v = tl.load(logits + row * V + at, mask=at < V, other=float("-inf")).to(tl.float32)
    most = tl.max(v)
    log_sum = most + tl.log(tl.sum(tl.exp(v - most)))
    tl.store(losses + row, log_sum - tl.load(logits + row * V + label).to(tl.float32))
    tl.store(gradients + row * V + at, tl.exp(v - log_sum) - tl.where(at == label, 1.0, 0.0), mask=at < V)


def entropies():
    for format in (formats.bf16, formats.f32):
        logits, labels = normal(format, (8, 200), scale=4), whole(formats.i64, 8, 0, 199)
        labels.raw[3] = -100

        def expected(logits=logits, labels=labels.raw):
            x, kept = logits.values, labels != -100
            log_sum = x.max(1) + np.log(np.exp(x - x.max(1, keepdims=True)).sum(1))
            loss = np.where(kept, log_sum - x[np.arange(8), labels], 0)
            share = np.exp(x - log_sum[:, None])
            gradient = (share - (np.arange(200) == labels[:, None])) * kept[:, None]
            far = np.abs(x - log_sum[:, None]) + np.abs(log_sum[:, None])
            return {
                "losses": Close(loss, 220 * UNIT * (1 + np.abs(log_sum) + np.abs(loss))),
                "gradients": Close(gradient, (230 + 4 * far) * UNIT * share + UNIT),
            }

        yield Case(
            f"cross_entropy.{format.name}",
            cross_entropy,
            (8,),
            {
                "logits": logits,
                "labels": labels,
                "losses": empty(formats.f32, 8),
                "gradients": empty(formats.f32, (8, 200)),
                "V": 200,
                "ignored": -100,
            },
            expected,
            {"BLOCK": 256},
        )


@jit
def quantise_rows(x, q, scales, D, LIMIT: tl.constexpr, BLOCK: tl.constexpr):
    """int8 or an 8-bit float, with the scale that takes the row's largest number to the format's limit."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * D + at, mask=at < D, other=0.0).to(tl.float32)
    scale = tl.div_rn(tl.max(tl.abs(v)), LIMIT)
    r = tl.div_rn(v, scale)
    if q.dtype.element_ty == tl.int8:
        r = tl.floor(r + 0.5)
    tl.store(q + row * D + at, r.to(q.dtype.element_ty), mask=at < D)
    tl.store(scales + row, scale)


def quantised():
    """Exact: the quotients are numpy's float32 quotients."""
    for format, limit in (
        (formats.i8, 127.0),
        (formats.e4m3, 448.0),
        (formats.e5m2, 57344.0),
        (formats.e4m3fnuz, 240.0),
    ):
        x = uniform(formats.f32, (5, 200), -3, 3)

        def expected(x=x.raw, format=format, limit=limit):
            scale = np.abs(x).max(1) / np.float32(limit)
            r = x / scale[:, None]
            r = np.floor(r + np.float32(0.5)) if format is formats.i8 else r
            return {"q": Exact(format.encode(r)), "scales": Exact(scale)}

        yield Case(
            f"quantise_rows.{format.name}",
            quantise_rows,
            (5,),
            {"x": x, "q": empty(format, (5, 200)), "scales": empty(formats.f32, 5), "D": 200},
            expected,
            {"LIMIT": limit, "BLOCK": 256},
        )


def cases():
    for group in (layer_norms, layer_norms_backward, rms_norms, softmaxes, entropies, quantised):
        yield from group()
