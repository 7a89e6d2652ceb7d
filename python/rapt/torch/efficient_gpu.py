"""torch's memory-efficient attention operators for tensors of a GPU, computed by Rapt."""

import functools

import torch

from rapt.torch import gpu_call
from rapt.torch.report import Counts

NAME = "efficient"
FORWARD = "aten::_scaled_dot_product_efficient_attention"
BACKWARD = "aten::_scaled_dot_product_efficient_attention_backward"
KEY = gpu_call.KEY

_MOST_SEQUENCES = 65535  # of a call with dropout; torch has an error for more
_LSE_ROWS = 32  # in builds for CUDA, torch's lse has a multiple of this many rows


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, for calls that Rapt does not take."""
    multiple = 1 if torch.version.hip else _LSE_ROWS
    ours = gpu_call.fused(NAME, counts, new_out=gpu_call.heads_last, lse_multiple=multiple).forward

    def kernel(
        keys, query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None
    ):  # fmt: skip
        found = None
        if _takes(counts, query.shape[0], dropout_p):
            found = ours(query, key, value, attn_bias, dropout_p, is_causal, scale, compute_log_sumexp)
        if found is None:
            return original.call_boxed(
                keys, query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale=scale
            )
        out, lse, (unread, seed) = found
        return out, _no_lse(query.device, *query.shape[:2]) if lse is None else lse, unread, seed

    return kernel


def backward(original, counts: Counts):
    ours = gpu_call.fused(NAME, counts).backward

    def kernel(
        keys, grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
        grad_input_mask, is_causal=False, *, scale=None,
    ):  # fmt: skip
        bias, wanted = gpu_call.given(attn_bias), tuple(grad_input_mask)
        gradients = None
        if bias is not None or not wanted[3]:  # else torch has an error
            gradients = ours(
                grad_out_, query, key, value, bias, out, logsumexp, dropout_p, philox_offset, is_causal, scale, wanted
            )
        if gradients is not None:
            return gradients
        return original.call_boxed(
            keys, grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
            grad_input_mask, is_causal, scale=scale,
        )  # fmt: skip

    return kernel


def _takes(counts, batch, dropout_p):
    if dropout_p == 0 or batch <= _MOST_SEQUENCES:
        return True
    counts.refuse(f"{NAME}: dropout in more than {_MOST_SEQUENCES} sequences: torch has an error for it")
    return False


@functools.lru_cache(256)
def _no_lse(device, batch, heads):
    """lse of a call that no backward follows."""
    with torch.inference_mode(False):
        return torch.empty((batch, heads, 0), dtype=torch.float32, device=device)
