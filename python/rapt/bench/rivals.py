"""The measured functions, each of q, k, v [batch, heads, seqlen, head_dim] with gradients."""

import functools
import importlib
import importlib.util
import inspect
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import rapt.torch


class Rival(NamedTuple):
    name: str
    attention: Callable[..., Tensor]
    """(q, k, v, causal, option=None) -> out; NotImplementedError if it does not have the option"""
    quadratic: bool
    """it has the whole matrix of logits in memory"""


def rivals(device: str, dtype: torch.dtype, options: bool = False) -> tuple[list[Rival], dict[str, str]]:
    """The rivals that run here, Rapt first; and for each other rival, its name and why it does not run.

    options: also the functions that are only for calls with options.
    """
    present, absent = [], {}
    for name, make in _MAKERS.items():
        try:
            rival = Rival(name, make(), name in ("native", "torch math"))
            q, k, v = (torch.randn(1, 2, 64, 64, device=device, dtype=dtype, requires_grad=True) for _ in range(3))
            rival.attention(q, k, v, True).sum().backward()
        except (ImportError, RuntimeError, ValueError, AssertionError, TypeError) as error:
            absent[name] = str(error).strip().splitlines()[0]
        else:
            present.append(rival)
    if options:
        for name, make in _MAKERS_FOR_OPTIONS.items():
            try:
                present.append(Rival(name, make(), False))
            except ImportError as error:
                absent[name] = str(error)
    return present, absent


def _rapt():
    def attention(q, k, v, causal, option=None):
        if option is None:
            return rapt.torch.sdpa(q, k, v, is_causal=causal, enable_gqa=_grouped(q, k))
        packed = "cu_seqlens_q" in option.rapt
        q, k, v = (_packed(x) if packed else x.transpose(1, 2) for x in (q, k, v))
        out = rapt.torch.attention(q, k, v, **option.rapt)
        return out.transpose(0, 1)[None] if packed else out.transpose(1, 2)

    return attention


def _packed(tensor):
    """[1, heads, total, head_dim] as [total, heads, head_dim]"""
    return tensor[0].transpose(0, 1)


def _grouped(q, k):
    return q.shape[-3] != k.shape[-3]


def _torch(backend):
    def attention(q, k, v, causal, option=None):
        with sdpa_kernel([backend]):  # raises if the backend does not take the call
            return _sdpa(q, k, v, causal, option)

    return attention


def _sdpa(q, k, v, causal, option=None):
    mask = option and option.mask
    if option and mask is None and option.rapt != {"causal": True}:
        raise NotImplementedError("it has no such option")
    return scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=_grouped(q, k))


def _torch_varlen():
    """Packed sequences by torch's own function."""
    from torch.nn.attention.varlen import varlen_attn

    names = inspect.signature(varlen_attn).parameters
    is_causal = {"is_causal": True} if "is_causal" in names else {"window_size": (-1, 0)}

    def attention(q, k, v, causal, option=None):
        if option is None or "cu_seqlens_q" not in option.rapt:
            raise NotImplementedError("it is for packed sequences")
        sizes = (option.rapt[f"{name}_{x}"] for name in ("cu_seqlens", "max_seqlen") for x in "qk")
        return varlen_attn(*(_packed(x) for x in (q, k, v)), *sizes, **is_causal).transpose(0, 1)[None]

    return attention


def _torch_flex():
    """FlexAttention, compiled. fullgraph: beyond the limit torch would run it uncompiled, without a word."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    if not hasattr(torch._dynamo.config, "recompile_limit"):
        raise ImportError("this torch's FlexAttention is too old")
    torch._dynamo.config.recompile_limit = max(64, torch._dynamo.config.recompile_limit)
    compiled = torch.compile(flex_attention, dynamic=False, fullgraph=True)
    block_mask = functools.lru_cache(1)(
        lambda mod, rows, columns, device: create_block_mask(mod, None, None, rows, columns, device)
    )

    def attention(q, k, v, causal, option=None):
        if option is None or option.mask_mod is None:
            raise NotImplementedError("it is for scores that are computed, and causal ones")
        mask = block_mask(option.mask_mod, q.shape[2], k.shape[2], q.device)
        return compiled(q, k, v, score_mod=option.score_mod, block_mask=mask)

    return attention


def _native():
    """softmax(q k^T) v written out, in fp32, as the MI300X report compares with."""

    def attention(q, k, v, causal, option=None):
        _without(option)
        dtype, (q, k, v) = q.dtype, (x.float() for x in (q, k, v))
        if _grouped(q, k):
            k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if causal:
            masked = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
            scores = scores.masked_fill(masked, -math.inf)
        return (scores.softmax(-1) @ v).to(dtype)

    return attention


def _flash_attn_like(module):
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        raise ImportError("not installed")
    function = importlib.import_module(module).flash_attn_func
    if function.__module__.startswith("rapt."):
        raise ImportError("not installed: rapt.flash_attn replaces it")

    def attention(q, k, v, causal, option=None):
        _without(option)
        result = function(*(x.transpose(1, 2) for x in (q, k, v)), causal=causal)
        return (result[0] if isinstance(result, tuple) else result).transpose(1, 2)

    return attention


def _without(option):
    if option:
        raise NotImplementedError("it is measured without options")


_MAKERS = {
    "rapt": _rapt,
    "torch": lambda: _sdpa,  # what torch chooses: without Rapt, this is what runs
    "torch flash": lambda: _torch(SDPBackend.FLASH_ATTENTION),
    "torch efficient": lambda: _torch(SDPBackend.EFFICIENT_ATTENTION),
    "torch cudnn": lambda: _torch(SDPBackend.CUDNN_ATTENTION),
    "torch math": lambda: _torch(SDPBackend.MATH),
    "native": _native,
    "flash_attn": lambda: _flash_attn_like("flash_attn"),
    "aiter ck": lambda: _flash_attn_like("aiter"),
    "aiter triton": lambda: _flash_attn_like("aiter.ops.triton.mha"),
}

_MAKERS_FOR_OPTIONS = {"torch varlen": _torch_varlen, "torch flex": _torch_flex}
