"""Attention by its definition in float64, forward and backward, with only NumPy: results are compared with it.

It shares nothing with the library: it has whole matrices, and gradients by the chain rule through softmax, not from lse
and rowsum(dO * O). rapt.verify and the tests use it; tests/float64.py loads this file without the package.
"""

from typing import NamedTuple

import numpy as np

UNIT = 2.0**-24  # of fp32
LEAST_NORMAL = 2.0**-126  # of fp32: a weight below it may count as 0
NO_WEIGHT = -104.0  # e^-104 is below half of fp32's least number: such a weight is exactly 0
VAGUE = 2.0**-4  # a relative error of the weights from which on Bounds.spread counts
LARGEST_FINITE = {
    "float16": 65504.0,
    "bfloat16": 2.0**128 - 2.0**120,
    "float32": 2.0**128 - 2.0**104,
    "float64": 1.7976931348623157e308,
}


class Bounds(NamedTuple):
    """What the inputs say of a problem's results."""

    largest_logit: float
    """the largest |logit| that is not masked, sinks included; without bias and ALiBi where its weight is 0"""
    spread: float
    """how far out can move, however wrong the weights are"""
    reach: dict[str, float]
    """how large each result can be if every weight is anything from 0 to 1"""
    vague_rows: np.ndarray | None = None
    """as lse: rows whose weights errors of their own logits make vague; None if there are none"""
    clear_logit: float = 0.0
    """largest_logit of the other rows"""
    cancelled: dict[str, float] = {}
    """how large the terms of the sums are that cancel in dP - delta, as errors of dq, dk, and dq of rows not vague"""


def attention_float64(q, k, v, dout=None, *, softmax_scale=None, causal=False, softcap=0.0, window=None, bias=None,
                      mask=None, alibi_slopes=None, sink=None, out=None):  # fmt: skip
    """out, lse, dq, dk, dv, dbias and dsink as a dict, and their Bounds.

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
    squares = {"dq": np.zeros(q.shape), "dk": np.zeros(k.shape)}  # of errors that float32's sums may have
    largest, spreads = np.zeros_like(results["lse"]), []
    scale = q.shape[3] ** -0.5 if softmax_scale is None else softmax_scale
    for b, h in np.ndindex(batch, heads_q):
        found, top, spread = head_float64(
            q[b, :, h], k[b, :, h // group], v[b, :, h // group], dout[b, :, h],
            scale=scale, causal=causal, softcap=softcap, window=window,
            bias=None if bias is None else parts[0][b, h], mask=None if mask is None else parts[1][b, h],
            slope=None if slopes is None else slopes[b, h], sink=None if sink is None else sink[h],
            out=None if out is None else out[b, :, h],
        )  # fmt: skip
        largest[b, h] = top
        spreads.append(spread)
        results["out"][b, :, h], results["lse"][b, h], results["dq"][b, :, h] = found["out"], found["lse"], found["dq"]
        results["dk"][b, :, h // group] += found["dk"]
        results["dv"][b, :, h // group] += found["dv"]
        dbias[b, h] = found["dbias"]
        dsink[h] += found.get("dsink", 0)
        squares["dq"][b, :, h] = np.square(found["lost"]) @ np.square(_finite(k[b, :, h // group]))
        squares["dk"][b, :, h // group] += np.square(found["lost"]).T @ np.square(_finite(q[b, :, h]))
    if bias is not None:
        results["dbias"] = dbias.sum(axis=tuple(i for i in range(4) if bias.shape[i] == 1), keepdims=True)
    if sink is not None:
        results["dsink"] = dsink
    vague, reach = _slack(largest) > VAGUE, _reach(q, k, v, dout, scale)
    squares["clear dq"] = squares["dq"][~vague.swapaxes(1, 2)]
    cancelled = {name: 2 * abs(scale) * np.sqrt(x.max(initial=0)) for name, x in squares.items()}
    if not vague.any():
        return results, Bounds(largest.max(initial=0), 0.0, reach, cancelled=cancelled)
    widest = max(spread(_slack(largest.max())) for spread in spreads)
    return results, Bounds(largest.max(), widest, reach, vague, largest[~vague].max(initial=0), cancelled)


def _finite(x):
    return np.where(np.isfinite(x), x, 0)


def _slack(largest_logit):
    """What any fp32 sum of the logits may lose, as an error of each logit."""
    return 4 * UNIT * (1 + largest_logit)


def _reach(q, k, v, dout, scale):
    keys, rows = k.shape[1], q.shape[1] * (q.shape[2] // k.shape[2])
    largest = {name: np.abs(x[np.isfinite(x)]).max(initial=0) for name, x in zip("qkvo", (q, k, v, dout), strict=True)}
    norms = [np.sqrt(np.square(np.where(np.isfinite(x), x, 0)).sum(axis=-1)).max(initial=0) for x in (dout, v)]
    gradient = 2 * norms[0] * norms[1]  # |dP - delta|
    reach = {"out": keys * largest["v"], "dv": rows * largest["o"], "lse": 0.0}
    reach |= {"dq": keys * abs(scale) * gradient * largest["k"], "dk": rows * abs(scale) * gradient * largest["q"]}
    return reach | dict.fromkeys(("dbias", "dsink"), gradient * q.shape[0] * q.shape[2] * q.shape[1])


def head_float64(q, k, v, dout, *, scale, causal=False, softcap=0.0, window=None, bias=None, mask=None, slope=None,
                 sink=None, keep=1.0, out=None):  # fmt: skip
    """One head of one sequence, each tensor a matrix; `keep` multiplies probabilities, as dropout does. Also returns
    each row's Bounds.largest_logit, and a function from an error of each logit to Bounds.spread.

    Keys and values that no query attends may hold NaN: they affect nothing.
    """
    rows, columns = len(q), len(k)
    distance = np.arange(columns)[None, :] - np.arange(rows)[:, None] - (0 if causal == "top-left" else columns - rows)
    seen = _attended(distance, causal, window, mask)
    unseen_keys = ~seen.any(axis=0)
    k, v = np.where(unseen_keys[:, None], 0, k), np.where(unseen_keys[:, None], 0, v)
    raw = scale * (q @ k.T)
    tanh = np.tanh(raw / softcap) if softcap else None
    products = logits = softcap * tanh if softcap else raw
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
    finite = np.isfinite(every) & np.isfinite(lse)[:, None]  # where lse is NaN, no result of the row is finite
    counts = finite & (every >= lse[:, None] + NO_WEIGHT)
    largest = np.where(counts, np.abs(every), 0).max(axis=1, initial=0)
    weightless = finite[:, :columns] & np.isfinite(products) & ~counts[:, :columns]
    largest = np.maximum(largest, np.where(weightless, np.abs(products), 0).max(axis=1, initial=0))
    p_every = np.where(e == 0, 0, e / np.where(total == 0, 1, total))
    p = p_every[:, :columns]
    with np.errstate(invalid="ignore"):
        result = {"out": _weighted(p * keep, v, p != 0), "lse": lse}
        dp = np.where(p > 0, np.where(p > 0, dout @ v.T, 0) * keep, 0)
    mean = ((p * dp) if out is None else dout * out).sum(axis=1, keepdims=True)
    ds = p * (dp - mean)
    draw = ds * (1 - tanh * tanh) if softcap else ds
    result |= {"dbias": ds, "dv": _weighted((p * keep).T, dout)}
    result |= {"dq": scale * _weighted(draw, k), "dk": scale * _weighted(draw.T, q)}
    if sink is not None:
        result["dsink"] = -(p_every[:, -1:] * mean).sum()
    result["lost"] = _lost(np.nan_to_num(p), dout, v) * (np.nan_to_num(1 - tanh * tanh) if softcap else 1)
    return result, largest, lambda slack: _spread(every, top, v, slack, sink is not None, np.max(keep, initial=0))


def _lost(p, dout, v):
    """How large the terms of the sums dP and delta are, times the weight that their difference has in a gradient."""
    terms = np.abs(_finite(dout)) @ np.abs(_finite(v)).T
    return p * (terms + (p * terms).sum(axis=1, keepdims=True))  # delta's terms: a mean of dP's


def _spread(every, top, v, slack, with_sink, keep):
    """The widest range of v, in one dimension, among the keys that an error of `slack` in each logit can give weight.

    It is 0 where these logits are equal: their weights are equal too, in any arithmetic.
    """
    widest = 0.0
    for logits, counts in zip(every, np.isfinite(every) & (every >= top + NO_WEIGHT - 2 * slack), strict=True):
        sunk = with_sink and counts[-1]
        keys = counts[: len(v)]
        if not keys.any() or (not sunk and np.ptp(logits[: len(v)][keys]) == 0):
            continue
        values = v[keys]
        if sunk or keep != 1:
            values = np.concatenate([values, np.zeros((1, v.shape[1]))])
        finite = np.isfinite(values)
        ranges = np.where(finite, values, -np.inf).max(axis=0) - np.where(finite, values, np.inf).min(axis=0)
        widest = max(widest, ranges.max(initial=0))
    return keep * widest


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


def error_and_allowance(name, result, exact, plain, bounds):
    """The rule of docs/architecture.md, as cli/rule/rule.cpp has it; `result` and `plain` in their own type, as NumPy
    arrays or PyTorch tensors. The error is infinite if a NaN or an infinity is misplaced."""
    largest_finite = LARGEST_FINITE[str(result.dtype).rpartition(".")[2]]
    tensors = [_doubles(x) for x in (result, exact, plain)]
    most = np.abs(tensors[1][np.isfinite(tensors[1])]).clip(max=largest_finite).max(initial=0)
    parts = [(..., bounds.largest_logit, name)]
    if bounds.vague_rows is not None and name in ("out", "lse", "dq"):
        vague = bounds.vague_rows if name == "lse" else bounds.vague_rows.swapaxes(1, 2)
        parts.append((~vague, bounds.clear_logit, f"clear {name}"))
    found = []
    for rows, logit, part in parts:
        error, allowance = _of_rows(name, [x[rows] for x in tensors], largest_finite, most, logit, bounds)
        lost = UNIT * bounds.cancelled.get(part, 0.0) if allowance < error < np.inf else 0.0
        found.append((error, allowance + lost))
    return max(found, key=lambda pair: (pair[0] > pair[1], pair[0] / pair[1] if pair[1] else 0))


def _of_rows(name, tensors, largest_finite, most, largest_logit, bounds):
    result, exact, plain = tensors
    misplaced, error = _difference(result, exact, largest_finite)
    slack = _slack(largest_logit)
    if name == "lse":
        slack += 1e-6
    else:
        reach = bounds.reach[name]
        at_most = VAGUE * most + bounds.spread if name == "out" else max(VAGUE * most, reach)
        slack = min(slack * most, at_most) + LEAST_NORMAL * reach
    return np.inf if misplaced else error, 2 * _difference(plain, exact, largest_finite)[1] + slack


def _difference(x, exact, largest_finite):
    """True if a NaN or an infinity is misplaced, and max|x - exact| of the other elements.

    Where exact is beyond the type's range, the type's infinity and its largest value count as equal.
    """
    beyond = np.isfinite(exact) & (np.abs(exact) > largest_finite)
    x, exact = (np.where(beyond, a.clip(-largest_finite, largest_finite), a) for a in (x, exact))
    finite = np.isfinite(x) & np.isfinite(exact)
    misplaced = not np.array_equal(x[~finite], exact[~finite], equal_nan=True)
    return misplaced, np.abs(x[finite] - exact[finite]).max(initial=0)


def _doubles(x):
    return np.asarray(x.double().cpu() if hasattr(x, "cpu") else x, np.float64)
