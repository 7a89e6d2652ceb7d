"""torch's flash attention operators for CPU tensors, computed by Rapt. takeover.py puts these in their place.

They keep the originals' promises to callers, compiled graphs among them: out has query's memory layout, lse
and the gradients are in memory as [batch, seqlen, heads, ...], and lse is 0 for a row with nothing to attend.
"""

import torch

from rapt import _core
from rapt.torch.operators import contiguous_rows
from rapt.torch.report import Counts

NAME = "flash"
FORWARD = "aten::_scaled_dot_product_flash_attention_for_cpu"
BACKWARD = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"
KEY = "CPU"


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, for calls that Rapt does not take."""

    def kernel(keys, query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
        with counts.attempt(NAME, "forward") as taken:
            _check(query, dropout_p)
            out = torch.empty_like(query)
            batch, heads, rows, _ = query.shape
            lse = torch.empty((batch, rows, heads), dtype=torch.float32).transpose(1, 2)
            _core.forward(query, key, value, out, lse, **_options(is_causal, attn_mask, scale))
            if attn_mask is not None:
                lse.masked_fill_(lse == -torch.inf, 0.0)
        if taken:
            return out, lse
        return original.call_boxed(keys, query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)

    return kernel


def backward(original, counts: Counts):
    def kernel(keys, grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
        with counts.attempt(NAME, "backward") as taken:
            _check(query, dropout_p)
            gradients = [torch.empty_permuted(x.shape, (0, 2, 1, 3), dtype=x.dtype) for x in (query, key, value)]
            dout = contiguous_rows(grad_out)
            options = _options(is_causal, attn_mask, scale)
            _core.backward(query, key, value, out, logsumexp, dout, *gradients, None, None, **options)
        if taken:
            return tuple(gradients)
        return original.call_boxed(
            keys, grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
        )

    return kernel


def _check(query, dropout_p):
    """Raises if the call is left to torch's own kernel; the library may refuse it too."""
    if query.dtype == torch.float64:
        raise NotImplementedError("float64: Rapt's fast kernels take float32, bfloat16 and float16")
    if dropout_p:
        raise NotImplementedError("dropout: torch's operator for CPU tensors has none")
    if query.dim() != 4:
        raise NotImplementedError("query does not have four dimensions")


def _options(is_causal, attn_mask, scale):
    options = {"backend": "cpu", "_openmp_threads": torch.get_num_threads(), "_heads_first": True}
    if is_causal:
        options["causal"] = "top-left"
    if scale is not None:
        options["softmax_scale"] = scale
    if attn_mask is not None:
        options["bias"] = attn_mask if attn_mask.dim() == 4 else attn_mask[None, None]
    return options
