"""torch's flash attention operators for tensors of a GPU, computed by Rapt. takeover.py puts these in their place."""

import torch

from rapt.torch import gpu_call
from rapt.torch.operators import empty_result
from rapt.torch.report import Counts

NAME = "flash"
FORWARD = "aten::_scaled_dot_product_flash_attention"
BACKWARD = "aten::_scaled_dot_product_flash_attention_backward"
KEY = gpu_call.KEY


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, for calls that Rapt does not take."""

    def kernel(keys, query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
        with counts.attempt(NAME, "forward") as taken:
            gpu_call.check(counts, "forward", NAME, query, key, None, dropout_p, is_causal)
            _check(query, key, is_causal)
            out = empty_result(query, value.shape[-1])
            lse = torch.empty(query.shape[:3], dtype=torch.float32, device=query.device)
            seed = gpu_call.forward(counts, query, key, value, None, dropout_p, is_causal, scale, out, lse)
        if not taken:
            return original.call_boxed(keys, query, key, value, dropout_p, is_causal, return_debug_mask, scale=scale)
        # A seed and an offset, or in builds for CUDA both in the first tensor.
        state = gpu_call.unread(query, True) if torch.version.hip else gpu_call.unread(query, True, torch.uint64, (2,))
        debug_mask = gpu_call.unread(query, True, query.dtype, (0,))
        return out, lse, None, None, query.shape[2], key.shape[2], state, seed, debug_mask

    return kernel


def backward(original, counts: Counts):
    def kernel(
        keys, grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
        philox_seed, philox_offset, *, scale=None,
    ):  # fmt: skip
        with gpu_call.attempt_backward(counts, NAME, None, dropout_p, philox_offset) as taken:
            _check(query, key, is_causal)
            gpu_call.check_backward(counts, NAME, query, key, None, dropout_p, is_causal, philox_offset)
            gradients = gpu_call.backward(
                grad_out, query, key, value, None, out, logsumexp, dropout_p, philox_offset, is_causal, scale
            )
        if taken:
            return tuple(gradients[:3])
        return original.call_boxed(
            keys, grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
            is_causal, philox_seed, philox_offset, scale=scale,
        )  # fmt: skip

    return kernel


def _check(query, key, is_causal):
    if is_causal and query.shape[2] != key.shape[2]:
        raise NotImplementedError("causal with seqlen_q != seqlen_k: torch's kernels disagree about its meaning")
