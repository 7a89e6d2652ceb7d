"""torch's fused attention of nn.MultiheadAttention and nn.TransformerEncoder in eval mode, which has projections too.

torch computes it without scaled_dot_product_attention. The kernel here does the projections by torch and calls that
function, so that torch chooses an operator, which takeover.py replaces. Rapt computes nested tensors itself, as packed
sequences.
"""

import torch
from torch.nn import functional

from rapt.torch import math_attention
from rapt.torch.operators import attention
from rapt.torch.report import Counts

NAME = "native"
FORWARD = "aten::_native_multi_head_attention"
KEYS = ("CPU", "NestedTensorCPU", "CUDA", "NestedTensorCUDA")

_OF_ROWS, _OF_KEYS, _OF_SCORES = 0, 1, 2  # torch's kinds of masks


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, which also gives the matrix of probabilities."""

    def kernel(
        keys, query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None,
        need_weights=True, average_attn_weights=True, mask_type=None,
    ):  # fmt: skip
        given = (query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias)
        why_not = _why_not(query, key, value, mask, need_weights, mask_type)
        if why_not:
            counts.refuse(f"{NAME}: {why_not}")
        elif not query.is_nested:
            return _dense(*given, mask, mask_type), None
        else:
            with counts.attempt(NAME, "forward") as taken:
                math_attention.check(*3 * [query.values()], None, False)
                out = _nested(*given)
            if taken:
                return out, None
        return original.call_boxed(
            keys, query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
            need_weights, average_attn_weights, mask_type,
        )  # fmt: skip

    return kernel


def _why_not(query, key, value, mask, need_weights, mask_type) -> str:
    if need_weights:
        return "need_weights: the matrix of probabilities is asked for"
    if query is not key or key is not value:
        return "query, key and value are not one tensor"
    if query.is_nested and (mask is not None or query.dim() != 3 or not query.is_contiguous() or not query.size(0)):
        return "nested tensors with a mask, or that are not contiguous [batch, seqlens, embed_dim]"
    if mask is not None and mask_type not in (_OF_ROWS, _OF_KEYS, _OF_SCORES):
        return f"mask_type is {mask_type}"
    return ""


def _dense(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type):
    projected = functional.linear(query, qkv_weight, qkv_bias).unflatten(-1, (3, num_head, -1))
    q, k, v = (x.transpose(1, 2) for x in projected.unbind(2))
    if mask is not None:
        mask = mask[:, None, None] if mask_type == _OF_KEYS else mask
        mask = mask.logical_not() if mask.dtype == torch.bool else mask.to(query.dtype)  # True excludes here
    out = functional.scaled_dot_product_attention(q, k, v, mask)
    return functional.linear(out.transpose(1, 2).flatten(2), proj_weight, proj_bias)


def _nested(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias):
    sizes = query._nested_tensor_size()  # in host memory
    rows = query.values().view(-1, qkv_weight.shape[1])
    q, k, v = functional.linear(rows, qkv_weight, qkv_bias).unflatten(-1, (3, num_head, -1)).unbind(1)
    cu_seqlens = functional.pad(sizes[:, 0].cumsum(0), (1, 0)).to(query.device, torch.int32)
    longest = int(sizes[:, 0].max())
    packed = {"cu_seqlens_q": cu_seqlens, "cu_seqlens_k": cu_seqlens, "max_seqlen_q": longest, "max_seqlen_k": longest}
    out = attention(q, k, v, **packed)
    out = functional.linear(out.flatten(1), proj_weight, proj_bias)
    places = query._nested_tensor_strides(), query._nested_tensor_storage_offsets()
    return torch._nested_view_from_buffer(out.flatten(), sizes, *places)
