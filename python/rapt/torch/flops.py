"""Floating-point operations of Rapt's operators, for torch.utils.flop_counter: products alone, and without regard to
masks, as it counts torch's own attention."""

import torch
from torch.utils.flop_counter import register_flop_formula

from rapt.torch.composition import Options


def _products(q, k, v, args):
    """The operations of one product of queries and keys, and of one of probabilities and values."""
    o = Options(*args)
    if q.dim() == 3:
        lengths = zip(_lengths(o.cu_seqlens_q, o.max_seqlen_q), _lengths(o.cu_seqlens_k, o.max_seqlen_k), strict=True)
        pairs = q.shape[1] * sum(n_q * n_k for n_q, n_k in lengths)
    else:
        pairs = q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2 if o.heads_first else 1]
    return 2 * pairs * q.shape[-1], 2 * pairs * v.shape[-1]


def _lengths(cu_seqlens, longest):
    if type(cu_seqlens) is torch.Tensor and cu_seqlens.device.type != "meta":
        return cu_seqlens.diff().tolist()
    return [longest] * (len(cu_seqlens) - 1)  # nobody knows the numbers while torch traces


@register_flop_formula(torch.ops.rapt.attention, get_raw=True)
def _forward(q, k, v, *args, out_val=None, **_):
    return sum(_products(q, k, v, args))


@register_flop_formula(torch.ops.rapt.attention_backward, get_raw=True)
def _backward(wrt, dout, out, lse, q, k, v, *args, out_val=None, **_):
    of_keys, of_values = _products(q, k, v, args)
    return 3 * of_keys + 2 * of_values  # scores again, dq, dk; dP, dv
