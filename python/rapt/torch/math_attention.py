"""The attention that torch takes where no fused operator of its own takes the call, computed by Rapt.

torch calls it math: it writes the whole matrix of scores. Calls come here whose options torch's fused kernels lack, and
on some AMD GPUs all calls. torch traces through this operator, so compiled graphs contain Rapt's operator instead.
"""

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from rapt.torch.operators import is_traced
from rapt.torch.report import Counts
from rapt.torch.sdpa import sdpa

NAME = "math"
FORWARD = "aten::_scaled_dot_product_attention_math"
# The last two are of functions under torch.vmap, which has kernels of its own for math.
KEYS = ("CompositeImplicitAutograd", "FuncTorchBatchedDecomposition", "FuncTorchVmapMode")

_is_exporting = getattr(torch.compiler, "is_exporting", lambda: False)  # torch 2.5 has none


def forward(original, counts: Counts):
    """The kernel; `original` is torch's, for calls that Rapt does not take."""

    def kernel(
        keys, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, dropout_mask=None, *, scale=None,
        enable_gqa=False,
    ):  # fmt: skip
        traced = is_traced(query)
        with counts.attempt(NAME, "traced" if traced else "forward") as taken:
            check(query, key, value, attn_mask, is_causal, dropout_mask)
            out = sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
            # As the product that math ends with, and a tensor of its own: the caller may change it before the backward.
            own = out.requires_grad and not traced
            out = out.clone(memory_format=torch.contiguous_format) if own else out.contiguous()
        if taken:
            if not traced:
                count_backward(out, counts)
            # scaled_dot_product_attention reads only the first result; the second would be the matrix of scores.
            return out, out.new_empty(0)
        return original.call_boxed(
            keys, query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale=scale, enable_gqa=enable_gqa
        )

    return kernel


def count_backward(out, counts: Counts):
    """Counts the backward of a call that Rapt took, if there will be one."""
    if out.grad_fn is not None:
        out.grad_fn.register_prehook(lambda _: counts.taken.update(["backward"]))


def check(query, key, value, attn_mask, is_causal, dropout_mask=None):
    """Raises if the call is left to torch; the library may refuse it too."""
    if not torch._C._get_flash_sdp_enabled() and not torch._C._get_mem_efficient_sdp_enabled():
        raise NotImplementedError("sdpa_kernel() or torch.backends.cuda asks for it")
    if _is_exporting():
        raise NotImplementedError("torch.export: a program that it exports has torch's operators alone")
    if query.dtype == torch.float64:
        raise NotImplementedError("float64: Rapt's fast kernels take float32, bfloat16 and float16")
    if query.device.type not in ("cpu", "cuda"):
        raise NotImplementedError(f"Rapt has no kernels for {query.device.type}")
    for name, tensor in (("query", query), ("key", key), ("value", value), ("attn_mask", attn_mask)):
        if tensor is not None and tensor.is_nested:
            raise NotImplementedError(f"{name} is a nested tensor that is not of the layout torch.jagged")
        if tensor is not None and is_traceable_wrapper_subclass(tensor):
            raise NotImplementedError(f"{name} is a {type(tensor).__name__}")
    if torch.autograd.forward_ad._current_level >= 0:
        raise NotImplementedError("forward-mode derivatives: Rapt composes them of torch's operators, as math is")
    if dropout_mask is not None or (is_causal and attn_mask is not None):
        raise NotImplementedError("dropout_mask, or a mask beside is_causal")
