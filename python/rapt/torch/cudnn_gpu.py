"""torch's operators of cuDNN's attention, computed by Rapt. torch prefers them to flash on Hopper and later."""

import torch

from rapt.torch import gpu_call
from rapt.torch.operators import empty_result
from rapt.torch.report import Counts

NAME = "cudnn"
FORWARD = "aten::_scaled_dot_product_cudnn_attention"
BACKWARD = "aten::_scaled_dot_product_cudnn_attention_backward"
KEY = gpu_call.KEY


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, for calls that Rapt does not take."""

    def kernel(
        keys, query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False,
        return_debug_mask=False, *, scale=None,
    ):  # fmt: skip
        with counts.attempt(NAME, "forward") as taken:
            gpu_call.check(
                counts, "forward", NAME, query, key, attn_bias, dropout_p, is_causal, alone=not compute_log_sumexp
            )
            out = empty_result(query, value.shape[-1])
            lse = None
            if compute_log_sumexp:
                lse = torch.empty((*query.shape[:3], 1), dtype=torch.float32, device=query.device)
            seed = gpu_call.forward(counts, query, key, value, attn_bias, dropout_p, is_causal, scale, out, lse)
        if not taken:
            return original.call_boxed(
                keys, query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, return_debug_mask,
                scale=scale,
            )  # fmt: skip
        unread = gpu_call.unread(query, compute_log_sumexp)
        return out, lse, None, None, query.shape[2], key.shape[2], unread, seed, None

    return kernel


def backward(original, counts: Counts):
    def kernel(
        keys, grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q, cum_seq_k,
        max_q, max_k, dropout_p, is_causal, *, scale=None,
    ):  # fmt: skip
        bias = gpu_call.given(attn_bias)
        with gpu_call.attempt_backward(counts, NAME, bias, dropout_p, philox_offset) as taken:
            gpu_call.check_backward(counts, NAME, query, key, bias, dropout_p, is_causal, philox_offset)
            gradients = gpu_call.backward(
                grad_out, query, key, value, bias, out, logsumexp, dropout_p, philox_offset, is_causal, scale
            )
        if taken:
            return tuple(gradients[:3])
        return original.call_boxed(
            keys, grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q,
            cum_seq_k, max_q, max_k, dropout_p, is_causal, scale=scale,
        )  # fmt: skip

    return kernel
