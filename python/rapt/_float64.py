"""Attention by its definition in float64, forward and backward, with NumPy alone: what results are held against."""

import numpy as np

UNIT = 2.0**-24  # of fp32


def attention_float64(q, k, v, dout, *, softmax_scale=None, causal=False, softcap=0.0, window=None, bias=None,
                      mask=None, alibi_slopes=None, sink=None):  # fmt: skip
    """out, lse, dq, dk, dv, dbias and dsink as a dict, and the largest |logit| that is not masked.

    q, dout [batch, seqlen_q, heads_q, head_dim], k, v [batch, seqlen_k, heads_k, head_dim]; the options of
    rapt.attention as arrays. seqlen_k >= 1.
    """
    q, k, v, dout = (np.asarray(x, np.float64).swapaxes(1, 2) for x in (q, k, v, dout))
    group = q.shape[1] // k.shape[1]
    wide_k, wide_v = (np.repeat(x, group, axis=1) for x in (k, v))
    scale = softmax_scale or q.shape[-1] ** -0.5
    raw = scale * q @ wide_k.swapaxes(2, 3)
    capped = softcap * np.tanh(raw / softcap) if softcap else raw
    distance = np.arange(k.shape[2])[None, :] - np.arange(q.shape[2])[:, None]
    if causal != "top-left":
        distance = distance - (k.shape[2] - q.shape[2])
    s = capped if bias is None else capped + bias
    if alibi_slopes is not None:
        s = s - alibi_slopes.reshape(-1, q.shape[1], 1, 1) * np.abs(distance)
    left, right = window or (-1, -1)
    kept = np.ones(s.shape, bool) if mask is None else np.broadcast_to(mask, s.shape)
    kept = kept & ((distance <= (0 if causal else right)) | (not causal and right < 0))
    kept = kept & ((distance >= -left) | (left < 0))

    logit_of_sink = np.full(s.shape[:3], -np.inf) if sink is None else np.broadcast_to(sink[:, None], s.shape[:3])
    top = np.maximum(np.where(kept, s, -np.inf).max(axis=3), logit_of_sink)
    top = np.where(np.isfinite(top), top, 0)[..., None]
    e = np.where(kept, np.exp(np.where(kept, s, 0) - top), 0)
    total = e.sum(axis=3, keepdims=True) + np.exp(logit_of_sink[..., None] - top)
    p = e / np.where(total == 0, 1, total)
    out = p @ wide_v
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[..., 0]

    delta = (dout * out).sum(axis=3)
    ds = p * (dout @ wide_v.swapaxes(2, 3) - delta[..., None])
    draw = ds * (1 - (capped / softcap) ** 2) if softcap else ds
    results = {
        "out": out.swapaxes(1, 2),
        "lse": lse,
        "dq": (scale * draw @ wide_k).swapaxes(1, 2),
        "dk": _by_group(scale * draw.swapaxes(2, 3) @ q, group).swapaxes(1, 2),
        "dv": _by_group(p.swapaxes(2, 3) @ dout, group).swapaxes(1, 2),
    }
    if bias is not None:
        broadcast = tuple(i for i in range(4) if bias.shape[i] == 1)
        results["dbias"] = ds.sum(axis=broadcast, keepdims=True)
    if sink is not None:
        results["dsink"] = -(np.exp(logit_of_sink - lse) * delta).sum(axis=(0, 2))
    return results, np.abs(s[kept]).max(initial=0)


def error_and_allowance(name, result, exact, plain, largest_logit):
    """The rule of docs/architecture.md: |X - X64| <= 2 max|X_plain - X64| + 4 u (1 + max|logit|) max|X64|.

    For lse the last term is absolute, + 1e-6, and the plain formula's error does not count.
    """
    slack = 4 * UNIT * (1 + largest_logit)
    if name == "lse":
        infinite = np.isinf(exact)
        if not (result[infinite] == exact[infinite]).all():
            return np.inf, slack + 1e-6
        return np.abs(result[~infinite] - exact[~infinite]).max(initial=0), slack + 1e-6
    allowance = 2 * np.abs(plain - exact).max(initial=0) + slack * np.abs(exact).max(initial=0)
    error = np.abs(result - exact).max(initial=0)
    return (error if np.isfinite(result).all() else np.inf), allowance


def _by_group(x, group):
    batch, heads, *rest = x.shape
    return x.reshape(batch, heads // group, group, *rest).sum(axis=2)
