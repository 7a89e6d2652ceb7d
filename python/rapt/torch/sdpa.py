"""torch.nn.functional.scaled_dot_product_attention, computed by Rapt."""

import math

import torch
from torch import Tensor
from torch.nn.attention.bias import CausalBias, CausalVariant

from rapt.torch import nested
from rapt.torch.operators import check_is_numbers, draw_seed, operator


def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """torch.nn.functional.scaled_dot_product_attention: the same arguments, the same result.

    query: [..., heads_q, seqlen_q, head_dim]; fp16, bf16 or fp32 (fp64: by the math backend, if the call is small)
    key: [..., heads_k, seqlen_k, head_dim]; value: [..., heads_k, seqlen_k, head_dim_v]; dimensions before seqlen
        broadcast, and enable_gqa lets heads_q be a multiple of heads_k
    attn_mask: broadcastable to [..., heads_q, seqlen_q, seqlen_k]: bool, True attends, or the type of query or fp32,
        added to the logits. It may require grad. Together with is_causal, both apply. Or a CausalBias, alone.
    dropout_p: in [0, 1]; the seed is one draw from PyTorch's generator, so the mask differs from torch's
    is_causal: query i sees keys j <= i
    scale: default 1 / sqrt(head_dim)

    Jagged nested tensors of four dimensions are packed sequences; nested.py says which.

    Returns [..., heads_q, seqlen_q, head_dim_v]. A row with nothing to attend is 0. Raises ValueError or TypeError if
    an argument is wrong, NotImplementedError if no backend takes the call.
    """
    if query.is_nested or key.is_nested or value.is_nested:
        return nested.sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale)
    causal = "top-left" if is_causal else None
    if isinstance(attn_mask, CausalBias):
        causal = _alignment(attn_mask, query, key, is_causal)
        attn_mask = None
    _check(query, key, value, attn_mask, dropout_p)
    shape = bias = mask = None
    if attn_mask is not None or not _has_kernels_shapes(query, key, value, enable_gqa):
        query, key, value, shape = _in_four_dimensions(query, key, value, attn_mask, enable_gqa)
    if attn_mask is not None:
        mask = _scores(query, key, attn_mask, shape)
        if mask.dtype != torch.bool:
            bias, mask = mask, None
    if 0 in (query.shape[1], key.shape[1], query.shape[3], value.shape[3]):
        out = _nothing(query, key, value)
    else:
        more = (None, None, None, None, draw_seed(query), dropout_p) if 0 < dropout_p < 1 else ()
        out, _ = operator(query, key, value, True, causal, scale, bias, mask, *more)
    if dropout_p == 1:
        out = torch.nn.functional.dropout(out, 1.0)
    return out if shape is None or len(shape) == 2 else out.reshape(*shape, *out.shape[-2:])


def _alignment(bias: CausalBias, query, key, is_causal):
    """What a CausalBias asks for; it has no numbers in memory."""
    if is_causal:
        raise ValueError("attn_mask is a CausalBias and is_causal is True; give one of them")
    sizes, expected = (query.shape[-2], key.shape[-2]), (bias.seq_len_q, bias.seq_len_kv)
    if sizes != expected:
        raise ValueError(f"attn_mask is a CausalBias of {expected}; query and key have {sizes} rows")
    return "top-left" if bias.variant == CausalVariant.UPPER_LEFT else "bottom-right"


def _check(query, key, value, attn_mask, dropout_p):
    if attn_mask is not None:
        check_is_numbers(attn_mask=attn_mask)
    if not 0 <= dropout_p <= 1:
        raise ValueError(f"dropout_p is {dropout_p}; it must be in [0, 1]")
    same = query.dtype == key.dtype == value.dtype
    fits = attn_mask is None or attn_mask.dtype in (torch.bool, torch.float32, query.dtype)
    if (same and fits) or torch.is_autocast_enabled(query.device.type):  # autocast gives all one type
        return
    if not same:
        raise ValueError(
            f"query is {query.dtype}, key {key.dtype} and value {value.dtype}; they must have the same type"
        )
    raise ValueError(f"attn_mask is {attn_mask.dtype}; it must be torch.bool, torch.float32 or {query.dtype}")


def _has_kernels_shapes(query, key, value, enable_gqa):
    """True if no tensor needs broadcasting or reshaping: those take longer than a decode call on a GPU."""
    if query.dim() != 4 or key.shape[:2] != value.shape[:2] or query.shape[0] != key.shape[0]:
        return False
    heads_q, heads_k = query.shape[1], key.shape[1]
    return heads_q == heads_k or (enable_gqa and heads_k > 0 and heads_q % heads_k == 0)


def _in_four_dimensions(query, key, value, attn_mask, enable_gqa):
    """query, key and value as [batch, heads, seqlen, head_dim], and the dimensions before seqlen_q of the result."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() < (3 if enable_gqa else 2):
            raise ValueError(
                f"{name} has the shape {tuple(tensor.shape)}; it must have at least "
                f"{'heads, ' if enable_gqa else ''}seqlen and head_dim"
            )
    leading = [tensor.shape[:-2] for tensor in (query, key, value)]
    if attn_mask is not None:
        leading.append(attn_mask.shape[:-2])
    if enable_gqa:
        heads_q, heads_k, heads_v = (shape[-1] for shape in leading[:3])
        if not heads_k or not heads_v or heads_q % heads_k or heads_q % heads_v:
            raise ValueError(
                f"query has {heads_q} heads, key {heads_k} and value {heads_v}; "
                f"query's must be a multiple of key's and of value's"
            )
        if heads_k != heads_v:
            key, value = (x.repeat_interleave(heads_q // x.shape[-3], -3) for x in (key, value))
        leading = [(*shape[:-1], heads_q) for shape in leading[:3]] + leading[3:]
    try:
        shape = torch.broadcast_shapes(*leading)
    except RuntimeError as error:
        raise ValueError(
            f"query has the shape {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
            + (f" and attn_mask {tuple(attn_mask.shape)}" if attn_mask is not None else "")
            + "; their dimensions before seqlen must be the same or broadcast"
            + ("" if enable_gqa else " (enable_gqa lets heads differ)")
        ) from error
    *batch, heads_q = (1, 1, *shape)[-max(2, len(shape)) :]
    heads = [heads_q, key.shape[-3], key.shape[-3]] if enable_gqa else [heads_q] * 3
    four = [
        tensor.expand(*batch, n, *tensor.shape[-2:]).reshape(math.prod(batch), n, *tensor.shape[-2:])
        for tensor, n in zip((query, key, value), heads, strict=True)
    ]
    return *four, shape


def _scores(query, key, attn_mask, shape):
    """attn_mask as [batch or 1, heads_q or 1, seqlen_q or 1, seqlen_k or 1]."""
    rows, columns = query.shape[-2], key.shape[-2]
    if attn_mask.dim() < 2 or attn_mask.shape[-2] not in (1, rows) or attn_mask.shape[-1] not in (1, columns):
        raise ValueError(
            f"attn_mask has the shape {tuple(attn_mask.shape)}; it must broadcast to {(*shape, rows, columns)}, and "
            f"have at least two dimensions"
        )
    if len(shape) > 2 and math.prod(attn_mask.shape[:-2]) > 1:
        attn_mask = attn_mask.expand(*shape, *attn_mask.shape[-2:])
    sizes = (1, 1, *attn_mask.shape[:-2])
    return attn_mask.reshape(math.prod(sizes[:-1]), sizes[-1], *attn_mask.shape[-2:])


def _nothing(query, key, value):
    """Zeros, with gradients of zeros, if there are no heads or no head_dim."""
    out = query.new_zeros((*query.shape[:-1], value.shape[-1]))
    return out + 0 * (query.sum() + key.sum() + value.sum())
