"""Attention of jagged nested tensors: their rows, one sequence behind another, are packed sequences."""

import torch
from torch import Tensor
from torch.nested._internal.nested_tensor import nested_view_from_values_offsets_lengths

from rapt.torch.operators import attention


def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None) -> Tensor:
    """rapt.torch.sdpa of query [batch, heads_q, seqlens_q, head_dim], key and value, all nested.

    The layout is torch.jagged, as `torch.nested.nested_tensor(rows, layout=torch.jagged).transpose(1, 2)` has it. The
    length of a sequence may differ between query and key; heads_q may be a multiple of key's heads.
    Raises ValueError or NotImplementedError for any other nested tensor, and for a mask.
    """
    packed = [_packed(name, x) for name, x in (("query", query), ("key", key), ("value", value))]
    if attn_mask is not None:
        raise NotImplementedError("attn_mask is given; with nested tensors it must be None")
    if not 0 <= dropout_p <= 1:
        raise ValueError(f"dropout_p is {dropout_p}; it must be in [0, 1]")
    if key.shape[2] != value.shape[2]:
        raise ValueError("key and value have sequences of different lengths, or offsets that are not the same tensor")
    q, k, v = (x.values() for x in packed)
    cu_seqlens = [x.offsets().to(torch.int32) for x in packed[:2]]
    # On a GPU, reading the longest sequence waits for the device once; torch keeps it in the nested tensor.
    longest = [x._get_max_seqlen() if q.device.type != "cpu" else None for x in packed[:2]]
    out = attention(
        q, k, v, causal="top-left" if is_causal else False, softmax_scale=scale,
        dropout=dropout_p if dropout_p < 1 else 0.0, cu_seqlens_q=cu_seqlens[0], cu_seqlens_k=cu_seqlens[1],
        max_seqlen_q=longest[0], max_seqlen_k=longest[1],
    )  # fmt: skip
    if dropout_p == 1:
        out = torch.nn.functional.dropout(out, 1.0)
    # nested_tensor_from_jagged() refuses to be traced below torch.compile's first level
    return nested_view_from_values_offsets_lengths(
        out, packed[0].offsets(), None, min_seqlen=packed[0]._maybe_min_seqlen, max_seqlen=packed[0]._maybe_max_seqlen
    ).transpose(1, 2)


def _packed(name, tensor):
    """[batch, seqlens, heads, head_dim], whose values() are packed sequences."""
    if not tensor.is_nested:
        raise ValueError(f"{name} is not nested; query, key and value must be nested tensors, or none of them")
    if tensor.layout != torch.jagged:
        raise NotImplementedError(f"{name} is a nested tensor of the layout {tensor.layout}; it must be torch.jagged")
    if tensor.dim() != 4 or tensor._ragged_idx != 2:
        raise NotImplementedError(f"{name} is nested; it must be [batch, heads, seqlens, head_dim]")
    if tensor.lengths() is not None:
        raise NotImplementedError(f"{name} is a nested tensor with gaps between its sequences")
    return tensor.transpose(1, 2)
