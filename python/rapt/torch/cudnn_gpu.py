"""torch's operators of cuDNN's attention, computed by Rapt. torch prefers them to flash on Hopper and later."""

from rapt.torch import gpu_call
from rapt.torch.report import Counts

NAME = "cudnn"
FORWARD = "aten::_scaled_dot_product_cudnn_attention"
BACKWARD = "aten::_scaled_dot_product_cudnn_attention_backward"
KEY = gpu_call.KEY


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, for calls that Rapt does not take."""
    ours = gpu_call.fused(NAME, counts, lse_column=True).forward

    def kernel(
        keys, query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False,
        return_debug_mask=False, *, scale=None,
    ):  # fmt: skip
        found = ours(query, key, value, attn_bias, dropout_p, is_causal, scale, compute_log_sumexp)
        if found is None:
            return original.call_boxed(
                keys, query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, return_debug_mask,
                scale=scale,
            )  # fmt: skip
        out, lse, (unread, seed) = found
        return out, lse, None, None, query.shape[2], key.shape[2], unread, seed, None

    return kernel


def backward(original, counts: Counts):
    ours = gpu_call.fused(NAME, counts).backward

    def kernel(
        keys, grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q, cum_seq_k,
        max_q, max_k, dropout_p, is_causal, *, scale=None,
    ):  # fmt: skip
        bias = gpu_call.given(attn_bias)
        wanted = (True, True, True, False)
        gradients = ours(
            grad_out, query, key, value, bias, out, logsumexp, dropout_p, philox_offset, is_causal, scale, wanted
        )
        if gradients is not None:
            return gradients[:3]
        return original.call_boxed(
            keys, grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q,
            cum_seq_k, max_q, max_k, dropout_p, is_causal, scale=scale,
        )  # fmt: skip

    return kernel
