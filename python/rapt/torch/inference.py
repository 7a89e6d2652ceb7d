"""torch.nn.functional.scaled_dot_product_attention on a GPU where no backward follows, without torch's dispatcher.

The operators that takeover.py replaces are reached through torch's choice of an operator, its dispatcher and the
conversion of each argument and result. That costs the host more than Rapt's own part of the call. So the function's
plain calls go to Rapt at once; all others go to torch's function, and so to the operators.
"""

import operator

import torch
from torch import Tensor
from torch.autograd import forward_ad

from rapt.torch import gpu_call
from rapt.torch.report import Counts

try:
    from torch._C import (
        _get_cudnn_sdp_enabled,
        _get_flash_sdp_enabled,
        _get_math_sdp_enabled,
        _get_mem_efficient_sdp_enabled,
        _get_tracing_state,
        _is_torch_function_mode_enabled,
        _len_torch_dispatch_stack,
    )
    from torch._C._functorch import peek_interpreter_stack
    from torch.autograd import _profiler_enabled
except ImportError:  # then torch's function stays
    _HAS_ALL = False
else:
    _HAS_ALL = True

FUNCTION = "torch.nn.functional.scaled_dot_product_attention"

_original = torch._C._nn.scaled_dot_product_attention
_on_gpu = operator.attrgetter("is_cuda")
_TYPES = (torch.float16, torch.bfloat16)
_ours = None  # Rapt's part of a call, while it is installed


class _Taken:
    """Counts of the calls that Rapt takes. The operators count the others."""

    def __init__(self, counts: Counts):
        self._counts, self.take = counts, counts.take

    @property
    def always(self):
        return self._counts.always

    def refuse(self, reason: str):
        pass


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if (
        not torch.compiler.is_compiling()  # first of all: torch.compile sees torch's function alone
        and (ours := _ours) is not None
        and attn_mask is None
        and dropout_p == 0
        and _is_plain(query, key, value)
        and (enable_gqa or query.size(1) == key.size(1) == value.size(1))
        and isinstance(is_causal, bool)
    ):
        found = ours(query, key, value, None, 0.0, is_causal, scale, False)
        if found is not None:
            return found[0]
    return _original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


def _is_plain(query, key, value):
    """True for 16-bit tensors of a GPU that need no gradient, if nothing watches or changes torch's operators."""
    return (
        type(query) is type(key) is type(value) is Tensor
        and _on_gpu(query)
        and query.dtype in _TYPES
        and query.dim() == 4
        and not (torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad))
        and not torch.is_autocast_enabled()
        and not _is_torch_function_mode_enabled()
        and _len_torch_dispatch_stack() == 0
        and peek_interpreter_stack() is None
        and forward_ad._current_level < 0
        and _get_tracing_state() is None
        and not _profiler_enabled()
        # a choice by sdpa_kernel() holds for the operators
        and _get_flash_sdp_enabled()
        and _get_cudnn_sdp_enabled()
        and _get_mem_efficient_sdp_enabled()
        and _get_math_sdp_enabled()
    )


def install(counts: Counts):
    """Puts the function in the place of torch's, unless another library has put its own there."""
    global _ours
    if not _HAS_ALL or torch.nn.functional.scaled_dot_product_attention is not _original:
        return
    _ours = gpu_call.fused("inference", _Taken(counts)).forward
    # torch.jit.script then compiles the function as torch's own
    torch.jit._builtins._register_builtin(scaled_dot_product_attention, "aten::scaled_dot_product_attention")
    torch.nn.functional.scaled_dot_product_attention = scaled_dot_product_attention


def remove():
    global _ours
    _ours = None  # for who has kept the function
    if torch.nn.functional.scaled_dot_product_attention is scaled_dot_product_attention:
        torch.nn.functional.scaled_dot_product_attention = _original


def installed() -> bool:
    return _ours is not None
