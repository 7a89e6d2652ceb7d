"""torch's flash attention operators for tensors of a GPU, computed by Rapt. takeover.py puts these in their place.

Builds of torch for ROCm and for CUDA have them at the key CUDA. lse is the natural logarithm, [batch, heads, seqlen_q],
in torch's kernels and in Rapt's, so that either backward can follow either forward.
"""

import torch

from rapt import _core
from rapt.torch.operators import contiguous_rows
from rapt.torch.report import Counts

FORWARD = "aten::_scaled_dot_product_flash_attention"
BACKWARD = "aten::_scaled_dot_product_flash_attention_backward"
KEY = "CUDA"


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, for calls that Rapt does not take."""

    def kernel(keys, query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
        why_not = _refusal(query, key, dropout_p, is_causal)
        if why_not is None:
            out = torch.empty_like(query)
            lse = torch.empty(query.shape[:3], dtype=torch.float32, device=query.device)
            try:
                _core.forward(query, key, value, out, lse, **_options(is_causal, scale))
            except (ValueError, NotImplementedError) as error:
                why_not = str(error)
            else:
                counts.taken["forward"] += 1
                # No packed sequences, and no random numbers were drawn.
                none = torch.empty((0,), dtype=torch.int64, device=query.device)
                seed, offset = _no_random_numbers(query.device)
                debug_mask = torch.empty((0,), dtype=query.dtype, device=query.device)
                return out, lse, none, none.clone(), query.shape[2], key.shape[2], seed, offset, debug_mask
        counts.refuse(why_not)
        return original.call_boxed(keys, query, key, value, dropout_p, is_causal, return_debug_mask, scale=scale)

    return kernel


def backward(original, counts: Counts):
    def kernel(
        keys, grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
        philox_seed, philox_offset, *, scale=None,
    ):  # fmt: skip
        why_not = _refusal(query, key, dropout_p, is_causal)
        if why_not is None:
            gradients = [torch.empty_like(x) for x in (query, key, value)]
            dout = contiguous_rows(grad_out)
            try:
                _core.backward(
                    query, key, value, out, logsumexp, dout, *gradients, None, None, **_options(is_causal, scale)
                )
            except (ValueError, NotImplementedError) as error:
                why_not = str(error)
            else:
                counts.taken["backward"] += 1
                return tuple(gradients)
        counts.refuse(why_not)
        return original.call_boxed(
            keys, grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
            is_causal, philox_seed, philox_offset, scale=scale,
        )  # fmt: skip

    return kernel


def _refusal(query, key, dropout_p, is_causal):
    """Why the call is left to torch's own kernel; None if Rapt takes it, unless the library then refuses it."""
    if dropout_p:
        return "dropout: torch's backward needs the random numbers of torch's forward"
    if is_causal and query.shape[2] != key.shape[2]:
        return "causal with seqlen_q != seqlen_k: torch's kernels disagree about its meaning"
    return None


def _no_random_numbers(device):
    """The generator's state as torch's builds return it: a seed and an offset, or both in the first number."""
    if torch.version.hip:
        return torch.zeros((), dtype=torch.int64, device=device), torch.zeros((), dtype=torch.int64, device=device)
    return torch.zeros(2, dtype=torch.uint64, device=device), torch.zeros((), dtype=torch.uint64, device=device)


def _options(is_causal, scale):
    # on torch's current stream
    options = {"backend": "hip" if torch.version.hip else "cuda", "_heads_first": True}
    if torch.are_deterministic_algorithms_enabled():
        options["deterministic"] = True
    if is_causal:
        options["causal"] = "top-left"
    if scale is not None:
        options["softmax_scale"] = scale
    return options
