"""Attention and its gradients composed of torch's operators: for second derivatives and forward mode.

They hold the matrices of all scores, O(seqlen_q * seqlen_k) memory, in float32 (float64 where q is).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from rapt.torch.operators import NAMES, operator

_COLUMNS = 256  # a head_dim that kernels of every device take


class Options(NamedTuple):
    """The operator's arguments after v, with their defaults."""

    heads_first: bool = False
    causal: str | None = None
    softmax_scale: float | None = None
    bias: Tensor | None = None
    mask: Tensor | None = None
    sink: Tensor | None = None
    alibi_slopes: Tensor | None = None
    cu_seqlens_q: Tensor | None = None
    cu_seqlens_k: Tensor | None = None
    dropout_seed: Tensor | None = None
    dropout: float = 0.0
    dropout_offset: int = 0
    softcap: float = 0.0
    window_left: int = -1
    window_right: int = -1
    max_seqlen_q: int | None = None
    max_seqlen_k: int | None = None
    backend: str | None = None
    deterministic: bool = False


assert list(Options._fields) == NAMES[3:]


class _Probabilities(NamedTuple):
    """All [batch, heads_q, rows, columns]; packed sequences are one batch."""

    p: Tensor
    factors: Tensor | float
    """of dropout"""
    slope: Tensor | float
    """d(capped logit) / d(logit)"""
    p_sink: Tensor | None
    """[batch, heads_q, rows]"""
    lse: Tensor


def forward(q, k, v, *args):
    """(out, lse) of torch.ops.rapt.attention."""
    o = Options(*args)
    heads_q = q.shape[_heads(q, o)]
    found = _probabilities(q, k, o)
    out = (found.p * found.factors) @ _scores_first(v, o, heads_q)
    return _as_given(out, q, o).to(q.dtype), found.lse.squeeze(0) if q.dim() == 3 else found.lse


def backward(wrt, dout, q, k, v, *args):
    """The gradients of torch.ops.rapt.attention_backward."""
    o = Options(*args)
    heads_q = q.shape[_heads(q, o)]
    found = _probabilities(q, k, o)
    dout, qs, ks, vs = (_scores_first(x, o, heads_q) for x in (dout, q, k, v))
    dv = (found.p * found.factors).mT @ dout
    dp = (dout @ vs.mT) * found.factors
    delta = (found.p * dp).sum(-1)
    ds = found.p * (dp - delta[..., None])
    scaled = ds * found.slope * _scale(q, o)
    gradients = [
        _as_given(scaled @ ks, q, o),
        _as_given(_of_groups(scaled.mT @ qs, k.shape[_heads(k, o)]), k, o),
        _as_given(_of_groups(dv, v.shape[_heads(v, o)]), v, o),
        ds.sum_to_size(o.bias.shape) if wrt[3] else None,
        -(found.p_sink * delta).sum((0, 2)) if wrt[4] else None,
    ]
    inputs = (q, k, v, o.bias, o.sink)
    return [x.to(of.dtype) for x, of, wanted in zip(gradients, inputs, wrt, strict=True) if wanted]


def _heads(tensor, o):
    return 1 if o.heads_first or tensor.dim() == 3 else 2


def _scores_first(tensor, o, heads_q):
    """[batch, heads_q, seqlen, head_dim] to compute with."""
    tensor = tensor.to(torch.promote_types(tensor.dtype, torch.float32))
    if tensor.dim() == 3:
        tensor = tensor[None]
    if not o.heads_first:
        tensor = tensor.transpose(1, 2)
    return tensor.repeat_interleave(heads_q // tensor.shape[1], 1)


def _as_given(tensor, like, o):
    if not o.heads_first:
        tensor = tensor.transpose(1, 2)
    return tensor.squeeze(0) if like.dim() == 3 else tensor


def _of_groups(tensor, heads_k):
    return tensor.unflatten(1, (heads_k, -1)).sum(2)


def _scale(q, o):
    return q.shape[-1] ** -0.5 if o.softmax_scale is None else o.softmax_scale


def _probabilities(q, k, o):
    if q.dim() == 3 and (o.bias is not None or o.mask is not None):
        raise NotImplementedError("second derivatives and forward mode of packed sequences with a bias or a mask")
    heads_q = q.shape[_heads(q, o)]
    qs, ks = (_scores_first(x, o, heads_q) for x in (q, k))
    logits = _scale(q, o) * (qs @ ks.mT)
    slope = 1.0
    if o.softcap:
        capped = torch.tanh(logits / o.softcap)
        logits, slope = o.softcap * capped, 1 - capped.square()
    allowed, distance, sequence = _geometry(q, qs.shape[2], ks.shape[2], o)
    if o.bias is not None:
        logits = logits + o.bias
    if o.alibi_slopes is not None:
        slopes = o.alibi_slopes.to(logits.dtype).expand(len(o.cu_seqlens_q) - 1 if q.dim() == 3 else len(qs), -1)
        slopes = slopes[sequence].T[None, :, :, None] if q.dim() == 3 else slopes[:, :, None, None]
        logits = logits - slopes * distance
    if o.mask is not None:
        allowed = allowed & o.mask.bool()
    logits = logits.masked_fill(~allowed, -torch.inf)
    sink = None if o.sink is None else o.sink.to(logits.dtype)[None, :, None].expand(logits.shape[:3])
    lse = torch.logsumexp(logits if sink is None else torch.cat((logits, sink[..., None]), -1), -1)
    if sequence is not None:
        lse = lse.masked_fill(torch.arange(len(sequence), device=q.device) >= o.cu_seqlens_q[-1], 0.0)
    finite = lse.masked_fill(lse == -torch.inf, 0.0)  # of a row with nothing to attend
    p = torch.exp(logits - finite[..., None])
    return _Probabilities(p, _dropout_factors(q, k, o), slope, None if sink is None else torch.exp(sink - finite), lse)


def _geometry(q, rows, columns, o):
    """What causality and window allow, |i + off - j|, and the sequence of each packed row."""
    i, j = (torch.arange(n, device=q.device) for n in (rows, columns))
    sequence = None
    if q.dim() == 3:
        sequence, i, lengths_q = _packed_places(i, o.cu_seqlens_q)
        sequence_k, j, lengths_k = _packed_places(j, o.cu_seqlens_k)
        allowed = (sequence[:, None] == sequence_k) & (sequence < len(lengths_q))[:, None]
        sequence = sequence.clamp(max=len(lengths_q) - 1)
        diagonal = (lengths_k - lengths_q)[sequence][:, None]
    else:
        allowed = torch.ones(rows, columns, dtype=torch.bool, device=q.device)
        diagonal = columns - rows
    if o.causal == "top-left":
        diagonal = 0
    distance = i[:, None] + diagonal - j
    if o.window_left >= 0:
        allowed = allowed & (distance <= o.window_left)
    right = 0 if o.causal is not None else o.window_right
    if right >= 0:
        allowed = allowed & (distance >= -right)
    return allowed, distance.abs(), sequence


def _packed_places(rows, cu_seqlens):
    """The sequence of each row, its place there, and the lengths; rows behind all are of a sequence of their own."""
    sequence = torch.bucketize(rows, cu_seqlens[1:], right=True)
    return sequence, rows - cu_seqlens[sequence], cu_seqlens.diff()


def _dropout_factors(q, k, o):
    """0 if dropped, 1 / (1 - p) if kept: attention with equal weights to the columns of an identity matrix."""
    if not o.dropout:
        return 1.0
    heads, seq = (_heads(k, o), 1 if _heads(k, o) == 2 else 2) if k.dim() == 4 else (1, 0)
    columns, dtype = k.shape[seq], torch.promote_types(q.dtype, torch.float32)
    equal = Options(
        o.heads_first, cu_seqlens_q=o.cu_seqlens_q, cu_seqlens_k=o.cu_seqlens_k, dropout_seed=o.dropout_seed,
        dropout=o.dropout, dropout_offset=o.dropout_offset, max_seqlen_q=o.max_seqlen_q, max_seqlen_k=o.max_seqlen_k,
    )  # fmt: skip
    identity = torch.eye(columns, dtype=dtype, device=q.device)
    shape = [1] * k.dim()
    shape[seq], shape[-1] = columns, columns
    identity = identity.view(shape).expand(*(n if d in (0, heads) and d != seq else -1 for d, n in enumerate(k.shape)))
    zeros_q, zeros_k = (torch.zeros((*x.shape[:-1], 1), dtype=dtype, device=q.device) for x in (q, k))
    with torch.no_grad():
        blocks = [operator(zeros_q, zeros_k, v.contiguous(), *equal)[0] for v in identity.split(_COLUMNS, -1)]
    kept = torch.cat(blocks, -1) > 0
    kept = kept[None] if q.dim() == 3 else kept
    kept = kept if o.heads_first else kept.transpose(1, 2)
    return kept.to(dtype) / (1 - o.dropout)
