"""Attention by its definition in float64, forward and backward, with only NumPy: results are compared with it.

It shares nothing with the library: it has whole matrices, and gradients by the chain rule through softmax, not from lse
and rowsum(dO * O). rapt.verify and the tests use it; tests/float64.py loads this file without the package.
"""

import functools
from typing import NamedTuple

import numpy as np

UNIT = 2.0**-24  # of fp32
LEAST_NORMAL = 2.0**-126  # of fp32: a weight below it may count as 0
LEAST = 2.0**-149  # and is a multiple of it
# Sums of denormal numbers lose more than others, and dot products of bf16 take such numbers for 0.
SMALLEST_OF_SUMS = {"float16": 0, "bfloat16": 2.0**-120}  # others: 2^-140
MOST = 4  # times its own sums' errors are an element's largest allowance
NO_WEIGHT = -106.0  # e^-106 is a quarter of what rounds to fp32's least number: such a weight is exactly 0
PRODUCT_LOSES = 8 * UNIT  # of the magnitudes of the terms of a sum over head_dim, in fp32
SUM_LOSES = 4 * UNIT  # the same of a sum over keys or rows
RESULT_LOSES = 16 * UNIT  # of a result, by additions of terms of one sign
VAGUE = 2.0**-4  # a relative error of a weight from which on errors are not independent
ROUNDINGS = {"float16": (2.0**-11, 2.0**-25), "bfloat16": (2.0**-8, 2.0**-134)}  # relative, and least; others are fp32
LARGEST_FINITE = {
    "float16": 65504.0,
    "bfloat16": 2.0**128 - 2.0**120,
    "float32": 2.0**128 - 2.0**104,
    "float64": 1.7976931348623157e308,
}


class Head(NamedTuple):
    """The weights of one head: a matrix of rows and keys, but for the last."""

    logits: np.ndarray
    """-inf where a key is not attended"""
    x: np.ndarray
    """the logarithm of the weights"""
    slopes: np.ndarray
    """of softcap"""
    lse: np.ndarray
    sinks: np.ndarray
    """the logarithm of the sink's weights; as lse"""


def attention_float64(q, k, v, dout=None, *, softmax_scale=None, causal=False, softcap=0.0, window=None, bias=None,
                      mask=None, alibi_slopes=None, sink=None, out=None):  # fmt: skip
    """out, lse, dq, dk, dv, dbias and dsink as a dict; and a function from the name of one and a type to what fp32 may
    lose of each of its elements, from the terms of the element's own sums.

    q [batch, seqlen_q, heads_q, head_dim], k, v [batch, seqlen_k, heads_k, ...]; rapt.attention's options as arrays.
    `out`: the forward's result, if the gradients use a rounded one.
    """
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    batch, seqlen_q, heads_q, _ = q.shape
    shape = (batch, seqlen_q, heads_q, v.shape[3])
    dout = np.zeros(shape) if dout is None else np.asarray(dout, np.float64)
    group = heads_q // k.shape[2]
    slopes = None if alibi_slopes is None else np.broadcast_to(alibi_slopes, (batch, heads_q))
    parts = [None if x is None else np.broadcast_to(x, (batch, heads_q, seqlen_q, k.shape[1])) for x in (bias, mask)]
    results = {"out": np.zeros(shape), "lse": np.zeros((batch, heads_q, seqlen_q))}
    results |= {"dq": np.zeros_like(q), "dk": np.zeros_like(k), "dv": np.zeros_like(v)}
    dbias, dsink = np.zeros((batch, heads_q, seqlen_q, k.shape[1])), np.zeros(heads_q)
    heads = {}
    scale = q.shape[3] ** -0.5 if softmax_scale is None else softmax_scale
    for b, h in np.ndindex(batch, heads_q):
        found, heads[b, h] = head_float64(
            q[b, :, h], k[b, :, h // group], v[b, :, h // group], dout[b, :, h],
            scale=scale, causal=causal, softcap=softcap, window=window,
            bias=None if bias is None else parts[0][b, h], mask=None if mask is None else parts[1][b, h],
            slope=None if slopes is None else slopes[b, h], sink=None if sink is None else sink[h],
            out=None if out is None else out[b, :, h],
        )  # fmt: skip
        results["out"][b, :, h], results["lse"][b, h], results["dq"][b, :, h] = found["out"], found["lse"], found["dq"]
        results["dk"][b, :, h // group] += found["dk"]
        results["dv"][b, :, h // group] += found["dv"]
        dbias[b, h] = found["dbias"]
        dsink[h] += found.get("dsink", 0)
    shared = None if bias is None else tuple(i for i in range(4) if bias.shape[i] == 1)
    if bias is not None:
        results["dbias"] = dbias.sum(axis=shared, keepdims=True)
    if sink is not None:
        results["dsink"] = dsink
    tensors = [_finite(x) for x in (q, k, v, dout)]
    own = functools.cache(lambda dtype: _own(*tensors, heads, abs(scale), softcap, shared, out, dtype))
    return results, lambda name, dtype: own(dtype)[name]


def _finite(x):
    return np.where(np.isfinite(x), x, 0)


def _logit_error(lse, x, of_products=0.0):
    """How far fp32's logits may be off, which are x more than lse, and whose products may lose so much."""
    return SUM_LOSES * (1 + np.abs(lse) + np.abs(_finite(x))) + of_products


def _own(q, k, v, dout, heads, scale, softcap, shared, out, dtype):
    """What fp32 may lose of each element of the results, whose terms are rounded to dtype."""
    rows, group = (q.shape[0], q.shape[2], q.shape[1]), q.shape[2] // k.shape[2]
    shapes = {"out": (*q.shape[:3], v.shape[3]), "dq": q.shape, "dk": k.shape, "dv": v.shape, "dsink": (q.shape[2],)}
    if shared is not None:
        shapes["dbias"] = tuple(1 if i in shared else n for i, n in enumerate((*rows, k.shape[1])))
    parts = {name: np.zeros((3, *shape)) for name, shape in shapes.items()}  # of _total
    lse = np.zeros(rows)
    for (b, h), head in heads.items():
        g, one_bias = h // group, shared is not None and 3 in shared
        matrices = q[b, :, h], k[b, :, g], v[b, :, g], dout[b, :, h]
        of_out = None if out is None else _finite(out[b, :, h])
        found = _head_errors(*matrices, head, scale, softcap, of_out, one_bias, dtype)
        lse[b, h] = found["lse"]
        for name in ("out", "dq"):
            parts[name][:, b, :, h] = found[name]
        for name in ("dk", "dv"):
            parts[name][:, b, :, g] += found[name]
        parts["dsink"][:, h] += found["dsink"]
        if shared is not None:
            at = 0 if 0 in shared else b, 0 if 1 in shared else h
            axes = tuple(i - 1 for i in (2, 3) if i in shared)
            parts["dbias"][:, *at] += found["dbias"].sum(axis=axes, keepdims=True)
    factors = {"dq": scale, "dk": scale}
    errors = {name: np.sqrt(squares) + sums + SUM_LOSES * terms for name, (squares, sums, terms) in parts.items()}
    return {"lse": lse} | {name: factors.get(name, 1) * x for name, x in errors.items()}


def head_float64(q, k, v, dout, *, scale, causal=False, softcap=0.0, window=None, bias=None, mask=None, slope=None,
                 sink=None, keep=1.0, out=None):  # fmt: skip
    """One head of one sequence, each tensor a matrix, and its Head; `keep` multiplies probabilities, as dropout does.

    Keys and values that no query attends may hold NaN: they affect nothing.
    """
    rows, columns = len(q), len(k)
    distance = np.arange(columns)[None, :] - np.arange(rows)[:, None] - (0 if causal == "top-left" else columns - rows)
    seen = _attended(distance, causal, window, mask)
    unseen_keys = ~seen.any(axis=0)
    k, v = np.where(unseen_keys[:, None], 0, k), np.where(unseen_keys[:, None], 0, v)
    raw = scale * (q @ k.T)
    logits, slopes = (
        (softcap * np.tanh(raw / softcap), _slopes(raw / softcap)) if softcap else (raw, np.ones(raw.shape))
    )
    if bias is not None:
        logits = logits + bias
    if slope is not None:
        logits = logits - slope * np.abs(distance)
    logits = np.where(seen, logits, -np.inf)

    every = logits if sink is None else np.concatenate([logits, np.full((rows, 1), sink)], axis=1)
    top = every.max(axis=1, initial=-np.inf, keepdims=True)
    top = np.where(np.isneginf(top), 0, top)
    e = np.where(np.isneginf(every), 0, np.exp(every - top))  # a sink of NaN does not reach excluded keys
    if sink == np.inf:
        e[:, -1] = 1  # and no other key has weight
    total = e.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[:, 0]
    p_every = np.where(e == 0, 0, e / np.where(total == 0, 1, total))
    p = p_every[:, :columns]
    with np.errstate(invalid="ignore"):
        result = {"out": _weighted(p * keep, v, p != 0), "lse": lse}
        dp = np.where(p > 0, np.where(p > 0, dout @ v.T, 0) * keep, 0)
    mean = ((p * dp) if out is None else dout * out).sum(axis=1, keepdims=True)
    ds = p * (dp - mean)
    draw = ds * slopes
    result |= {"dbias": ds, "dv": _weighted((p * keep).T, dout)}
    result |= {"dq": scale * _weighted(draw, k), "dk": scale * _weighted(draw.T, q)}
    if sink is not None:
        result["dsink"] = -(p_every[:, -1:] * mean).sum()
    finite = np.isfinite(lse)[:, None]
    with np.errstate(invalid="ignore"):  # not from lse, which is not exact beside a large top even in float64
        x = np.where(finite & np.isfinite(every), every - top - np.log(np.where(total == 0, 1, total)), -np.inf)
    sinks = x[:, -1] if sink is not None else np.full(rows, -np.inf)
    slopes = np.where(np.isfinite(slopes), slopes, 0)
    return result, Head(logits, x[:, :columns], slopes, np.where(finite[:, 0], lse, 0), sinks)


def _slopes(x):
    """Of tanh, exact where they are small too."""
    e = np.exp(-2 * np.abs(x))
    return 4 * e / np.square(1 + e)


def _change(x, error):
    """By how much a weight e^x may change if x is off by `error`. No weight exceeds 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        up = np.exp(x + error)
        lost = np.where(np.exp(x) < LEAST_NORMAL, up + LEAST, up - np.exp(x))
    return np.where(x + error < NO_WEIGHT, np.exp(x), np.minimum(lost, 1))


class _Weights(NamedTuple):
    """What may be off in the weights of a head, as matrices of rows and keys, or of rows."""

    terms: np.ndarray
    """magnitudes of what is added up in products"""
    error: np.ndarray
    """of logits"""
    weight: np.ndarray
    off: np.ndarray
    """by how much a weight may be off, given lse"""
    alone: np.ndarray
    """the same, where lse is made from the same logits"""
    vague: np.ndarray
    equal: np.ndarray
    """rows whose keys are equal"""
    of_sink: np.ndarray
    """the error of the sink"""
    own_lse: np.ndarray
    """how far lse may be off"""


def _weights_off(q, k, head, scale):
    terms = np.abs(q) @ np.abs(k).T * scale
    error = _logit_error(head.lse[:, None], head.x, head.slopes * PRODUCT_LOSES * terms)
    of_sink = _logit_error(head.lse, head.sinks)
    every = np.concatenate([head.x + error, (head.sinks + of_sink)[:, None]], axis=1)
    highest = every.max(axis=1, initial=-np.inf)
    highest = np.where(np.isneginf(highest), 0, highest)
    with np.errstate(divide="ignore"):
        own_lse = highest + np.log(np.exp(every - highest[:, None]).sum(axis=1))
    own_lse = np.where(np.isneginf(own_lse), 0, own_lse)
    alone = _change(head.x, error + own_lse[:, None]) * (head.x + error + own_lse[:, None] >= NO_WEIGHT)

    # Kernels give the logits of equal keys equal weights.
    which = np.unique(k, axis=0, return_inverse=True)[1].reshape(-1) if k.size else np.zeros(len(k))
    same = (which == which[head.x.argmax(axis=1)][:, None]) | (terms == 0) if len(k) else np.zeros(head.x.shape, bool)
    top = np.maximum(head.x.max(axis=1, initial=-np.inf), head.sinks)[:, None]
    equal = (((head.x == top) & same) | (alone == 0)).all(axis=1) & (head.sinks + of_sink + own_lse < NO_WEIGHT)
    alone = np.where(equal[:, None], 0, alone)
    off = _change(head.x, error)
    return _Weights(terms, error, np.exp(head.x), off, alone, error > VAGUE, equal, of_sink, own_lse)


def _of_mean(weights, values):
    """How far the means over the weights may be off, of values [keys, n], or [rows, keys, n]."""
    values = np.broadcast_to(values, (*weights.weight.shape, values.shape[-1]))
    found = np.zeros((len(weights.weight), values.shape[-1]))
    for row, (weight, alone, vague) in enumerate(zip(weights.weight, weights.alone, weights.vague, strict=True)):
        apart = np.abs(values[row] - weight @ values[row])
        of_row = np.sqrt(np.square(np.where(vague, 0, alone)) @ np.square(apart)) + np.where(vague, alone, 0) @ apart
        found[row] = np.minimum(of_row, apart.max(axis=0, where=alone[:, None] > 0, initial=0))
    return found


def _rounding(x, dtype):
    """The largest error of a rounding of x."""
    unit, least = ROUNDINGS.get(dtype, (UNIT, 2.0**-150))
    return np.minimum(np.maximum(unit * x, least), x)


def _total(errors, terms, vague, factors, dtype):
    """Of sums over the last axis of errors and terms, times factors: squares of independent errors, others, terms."""
    factors = np.abs(factors)
    squares = np.square(np.where(vague, 0, errors)) + np.square(_rounding(terms, dtype))
    sums = np.where(vague, errors, 0) @ factors
    if dtype == "bfloat16":  # dot products take denormal numbers for 0
        tiny = factors < LEAST_NORMAL
        sums += terms @ np.where(tiny, factors, 0) + np.where(terms < LEAST_NORMAL, terms, 0) @ np.where(
            tiny, 0, factors
        )
    return np.stack([squares @ np.square(factors), sums, terms @ factors])


def _head_errors(q, k, v, dout, head, scale, softcap, out, one_bias, dtype):
    """The three parts of each element's errors; of dbias, for each row and key; of lse, their sum."""
    weights = _weights_off(q, k, head, scale)
    weight, off, vague = weights.weight, weights.off, weights.vague
    found = {"lse": weights.own_lse, "dv": _total(off.T, weight.T, vague.T, dout, dtype)}
    found["out"] = _total(0 * weight, weight, vague, v, dtype)
    of_equal = weights.equal * UNIT / 2 * np.count_nonzero(weight, axis=1)
    found["out"][1] += _of_mean(weights, v) + of_equal[:, None] * found["out"][2]
    unit = ROUNDINGS.get(dtype, (UNIT,))[0]  # equal weights are rounded the same way
    found["out"][0] += weights.equal[:, None] * np.square(unit * (weight @ v))

    of = _products_off(weights, dout, v, np.isfinite(head.x), out)
    # Elements of out are rounded to the least number, and bf16's denormal ones count as 0.
    least = LEAST_NORMAL if dtype == "bfloat16" else LEAST
    of = of._replace(delta=of.delta + np.minimum(least * np.abs(dout).sum(axis=1), of.magnitude))
    of_row = of.delta[:, None]
    errors = off * of.apart + (weight + off) * (of.lost if one_bias else of.lost + of_row)
    found["dbias"] = np.stack([np.where(vague, 0, np.square(errors)), np.where(vague, errors, 0), weight * of.apart])
    if one_bias:
        found["dbias"][0, :, :1] += np.square(np.minimum((weight + off).sum(axis=1, keepdims=True), 1) * of_row)

    weighted = head.slopes * weight
    with np.errstate(divide="ignore"):
        of_slopes = 2 * PRODUCT_LOSES * weights.terms / softcap if softcap else 0
        changed = _change(head.x + np.log(head.slopes), weights.error + of_slopes)
    if softcap:
        changed = changed + 2 * UNIT * (weight + off)  # 1 - tanh^2 loses small slopes
    errors, sizes = changed * of.apart + (weighted + changed) * of.lost, weighted * of.apart
    found["dq"] = _total(errors, sizes, vague, k, dtype)
    found["dq"][0] += np.square((weighted @ k) * of_row)
    errors = errors + (weighted + changed) * of_row
    found["dk"] = _total(errors.T, sizes.T, vague.T, q, dtype)

    by_sink, off, mean = np.exp(head.sinks), _change(head.sinks, weights.of_sink), np.abs(of.mean)
    errors, of_vague = off * mean + (by_sink + off) * of.delta, weights.of_sink > VAGUE
    parts = [np.where(of_vague, 0, np.square(errors)), np.where(of_vague, errors, 0), by_sink * mean]
    found["dsink"] = np.stack([x.sum() for x in parts])
    return found


class _Products(NamedTuple):
    """dP and delta of a head, and what may be off in them."""

    apart: np.ndarray
    """|dP - delta|"""
    lost: np.ndarray
    """of dP"""
    mean: np.ndarray
    """delta"""
    magnitude: np.ndarray
    """the mean of |dP|"""
    delta: np.ndarray
    """lost of delta"""


def _products_off(weights, dout, v, attended, out):
    weight, off, dp = weights.weight, weights.off, dout @ v.T
    lost = PRODUCT_LOSES * (np.abs(dout) @ np.abs(v).T) * attended
    mean, magnitude = (weight * dp).sum(axis=1), (weight * np.abs(dp)).sum(axis=1)
    delta = np.minimum(((weight + off) * lost).sum(axis=1), lost.max(axis=1, initial=0))
    if out is None:  # an error of out is one of delta
        delta = delta + _of_mean(weights, dp[..., None])[:, 0]
    else:
        mean, delta = (dout * out).sum(axis=1), delta + PRODUCT_LOSES * np.abs(dout * out).sum(axis=1)
    return _Products(np.abs(dp - mean[:, None]), lost, mean, magnitude, delta)


def _attended(distance, causal, window, mask):
    """The keys that a query sees; distance: j - i from the diagonal."""
    left, right = window or (-1, -1)
    seen = np.ones(distance.shape, dtype=bool)
    if left >= 0:
        seen &= distance >= -left
    if causal or right >= 0:
        seen &= distance <= (0 if causal else right)
    if mask is not None:
        seen &= mask != 0
    return seen


def _weighted(weights, rows, counts=None):
    """weights @ rows, where a weight that does not count (default: 0) adds nothing, even if its row has NaN."""
    counts = weights != 0 if counts is None else counts
    bad = ~np.isfinite(rows).all(axis=1)
    total = weights[:, ~bad] @ rows[~bad]
    for x in np.flatnonzero(bad):
        total = total + np.where(counts[:, x : x + 1], weights[:, x : x + 1] * rows[x], 0)
    return total


def error_and_allowance(name, result, exact, plain, own):
    """The rule of docs/architecture.md, as cli/rule/rule.cpp has it: the element that is closest to its allowance.

    `result` and `plain` are in their own type, as NumPy arrays or PyTorch tensors; own is attention_float64's function.
    The error is infinite if a NaN or an infinity is misplaced.
    """
    dtype = str(result.dtype).rpartition(".")[2]
    largest_finite = LARGEST_FINITE[dtype]
    result, exact, plain = (_doubles(x) for x in (result, exact, plain))
    if not result.size:
        return 0.0, 0.0
    errors, of_plain = (_difference(x, exact, largest_finite) for x in (result, plain))
    sizes, sums = np.abs(np.where(np.isfinite(exact), exact, 0)).clip(max=largest_finite), own(name, dtype)
    smallest = np.maximum(RESULT_LOSES * sizes, SMALLEST_OF_SUMS.get(dtype, 2.0**-140))
    rounded = np.maximum(_rounding(sizes + sums, dtype), smallest)
    plain_error = of_plain.max(initial=0, where=np.isfinite(of_plain))
    allowed = np.clip(2 * plain_error, sums + rounded, MOST * (sums + rounded)) + (1e-6 if name == "lse" else 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = np.argmax(np.where(errors == 0, 0, errors / allowed))
    return errors.flat[worst], allowed.flat[worst]


def _difference(x, exact, largest_finite):
    """|x - exact|, infinite where a NaN or an infinity is misplaced.

    Where exact is beyond the type's range, the type's infinity and its largest value count as equal.
    """
    beyond = np.isfinite(exact) & (np.abs(exact) > largest_finite)
    x, exact = (np.where(beyond, a.clip(-largest_finite, largest_finite), a) for a in (x, exact))
    same = (x == exact) | (np.isnan(x) & np.isnan(exact))
    finite = np.isfinite(x) & np.isfinite(exact)
    with np.errstate(invalid="ignore"):
        return np.where(same, 0, np.where(finite, np.abs(x - exact), np.inf))


def _doubles(x):
    return np.asarray(x.double().cpu() if hasattr(x, "cpu") else x, np.float64)
