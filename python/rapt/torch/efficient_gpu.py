"""torch's memory-efficient attention operators for tensors of a GPU, computed by Rapt."""

import torch

from rapt.torch import gpu_call
from rapt.torch.report import Counts

NAME = "efficient"
FORWARD = "aten::_scaled_dot_product_efficient_attention"
BACKWARD = "aten::_scaled_dot_product_efficient_attention_backward"
KEY = gpu_call.KEY

_LSE_ROWS = 32  # in builds for CUDA, torch's lse has a multiple of this many rows


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, for calls that Rapt does not take."""

    def kernel(
        keys, query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None
    ):  # fmt: skip
        with counts.attempt(NAME, "forward") as taken:
            gpu_call.check(
                counts, "forward", NAME, query, key, attn_bias, dropout_p, is_causal, alone=not compute_log_sumexp
            )
            out = gpu_call.heads_last(query, value.shape[-1])
            batch, heads, rows, _ = query.shape
            if compute_log_sumexp:
                padded = rows if torch.version.hip else -(-rows // _LSE_ROWS) * _LSE_ROWS
                lse = torch.empty((batch, heads, padded), dtype=torch.float32, device=query.device)
                written = lse[..., :rows]
            else:
                lse, written = gpu_call.unread(query, False, torch.float32, (batch, heads, 0)), None
            seed = gpu_call.forward(counts, query, key, value, attn_bias, dropout_p, is_causal, scale, out, written)
        if taken:
            return out, lse, gpu_call.unread(query, compute_log_sumexp), seed
        return original.call_boxed(
            keys, query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale=scale
        )

    return kernel


def backward(original, counts: Counts):
    def kernel(
        keys, grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
        grad_input_mask, is_causal=False, *, scale=None,
    ):  # fmt: skip
        bias = gpu_call.given(attn_bias)
        with gpu_call.attempt_backward(counts, NAME, bias, dropout_p, philox_offset) as taken:
            gpu_call.check_backward(counts, NAME, query, key, bias, dropout_p, is_causal, philox_offset)
            lse = logsumexp[..., : query.shape[2]]
            wanted = [*grad_input_mask[:3], grad_input_mask[3] and bias is not None]
            gradients = gpu_call.backward(
                grad_out_, query, key, value, bias, out, lse, dropout_p, philox_offset, is_causal, scale, wanted
            )
        if taken:
            return tuple(gradients)
        return original.call_boxed(
            keys, grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
            grad_input_mask, is_causal, scale=scale,
        )  # fmt: skip

    return kernel
