"""torch's flash attention operators for tensors of a GPU, computed by Rapt. takeover.py puts these in their place."""

import torch

from rapt.torch import gpu_call
from rapt.torch.report import Counts

NAME = "flash"
FORWARD = "aten::_scaled_dot_product_flash_attention"
BACKWARD = "aten::_scaled_dot_product_flash_attention_backward"
KEY = gpu_call.KEY


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, for calls that Rapt does not take."""
    ours = gpu_call.fused(NAME, counts, _unread).forward

    def kernel(keys, query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
        found = None
        if _takes(counts, query, key, is_causal):
            found = ours(query, key, value, None, dropout_p, is_causal, scale, True)
        if found is None:
            return original.call_boxed(keys, query, key, value, dropout_p, is_causal, return_debug_mask, scale=scale)
        out, lse, (state, debug_mask, seed) = found
        return out, lse, None, None, query.shape[2], key.shape[2], state, seed, debug_mask

    return kernel


def backward(original, counts: Counts):
    ours = gpu_call.fused(NAME, counts).backward

    def kernel(
        keys, grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
        philox_seed, philox_offset, *, scale=None,
    ):  # fmt: skip
        gradients = None
        if _takes(counts, query, key, is_causal):
            wanted = (True, True, True, False)
            gradients = ours(
                grad_out, query, key, value, None, out, logsumexp, dropout_p, philox_offset, is_causal, scale, wanted
            )
        if gradients is not None:
            return gradients[:3]
        return original.call_boxed(
            keys, grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
            is_causal, philox_seed, philox_offset, scale=scale,
        )  # fmt: skip

    return kernel


def _takes(counts, query, key, is_causal):
    if not is_causal or query.shape[2] == key.shape[2]:
        return True
    counts.refuse(f"{NAME}: causal with seqlen_q != seqlen_k: torch's kernels disagree about its meaning")
    return False


def _unread(query, new):
    """A seed, and in builds for CUDA the offset with it; the debug mask; Rapt's seed."""
    state = new(torch.int64) if torch.version.hip else new(torch.uint64, (2,))
    return state, new(query.dtype, (0,)), new(gpu_call.SEED)
