"""Attention by its definition, in float64 NumPy, and the rule that results are held to."""

import numpy as np

UNIT = 2.0**-24  # of fp32


def logits(q, k, *, softmax_scale=None, causal=False, softcap=0.0, window=None, bias=None, mask=None, alibi=None):
    """[batch, heads_q, seqlen_q, seqlen_k] in float64; -inf where (i, j) is excluded."""
    q, k = (np.asarray(x, np.float64) for x in (q, k))
    seqlen_q, seqlen_k = q.shape[1], k.shape[1]
    k = np.repeat(k, q.shape[2] // k.shape[2], axis=2)
    s = np.einsum("bihd,bjhd->bhij", q, k) * (softmax_scale or 1 / np.sqrt(q.shape[-1]))
    if softcap:
        s = softcap * np.tanh(s / softcap)
    if bias is not None:
        s = s + np.asarray(bias, np.float64)
    distance = np.arange(seqlen_k)[None, :] - np.arange(seqlen_q)[:, None]
    if causal != "top-left":
        distance = distance - (seqlen_k - seqlen_q)
    if alibi is not None:
        s = s - np.asarray(alibi, np.float64).reshape(-1, q.shape[2], 1, 1) * np.abs(distance)
    left, right = window or (-1, -1)
    if causal:
        right = 0
    excluded = (distance > right if right >= 0 else False) | (distance < -left if left >= 0 else False)
    s = np.where(excluded, -np.inf, s)
    return s if mask is None else np.where(np.asarray(mask) != 0, s, -np.inf)


def forward(q, k, v, *, sink=None, **options):
    """out [batch, seqlen_q, heads_q, head_dim_v] and lse [batch, heads_q, seqlen_q] in float64."""
    s = logits(q, k, **options)
    v = np.repeat(np.asarray(v, np.float64), s.shape[1] // v.shape[2], axis=2)
    if sink is not None:
        column = np.broadcast_to(np.asarray(sink, np.float64).reshape(1, -1, 1, 1), (*s.shape[:3], 1))
        s, v = np.concatenate([s, column], 3), np.concatenate([v, np.zeros_like(v[:, :1])], 1)
    top = np.max(s, axis=3, keepdims=True, initial=-np.inf)
    p = np.exp(s - np.where(np.isfinite(top), top, 0))
    total = p.sum(3, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(np.isfinite(top), top, 0) + np.log(total)
    out = np.einsum("bhij,bjhd->bihd", p / np.where(total == 0, 1, total), v)
    return out, lse[..., 0]


def assert_within_rule(name, result, exact, plain, largest_logit):
    """docs/architecture.md: |X - X64| <= 2 max|X_plain - X64| + 4 u (1 + max|logit|) max|X64|; lse is absolute."""
    result, exact = (np.asarray(x, np.float64) for x in (result, exact))
    slack = 4 * UNIT * (1 + largest_logit)
    if name == "lse":
        infinite = np.isinf(exact)
        assert (result[infinite] == exact[infinite]).all(), "lse of rows with nothing to attend"
        error, allowed = np.abs(result[~infinite] - exact[~infinite]).max(initial=0), slack + 1e-6
    else:
        error = np.abs(result - exact).max(initial=0)
        allowed = 2 * np.abs(np.asarray(plain, np.float64) - exact).max(initial=0) + slack * np.abs(exact).max(
            initial=0
        )
    assert error <= allowed, f"{name}: error {error:.3e}, allowed {allowed:.3e}"
