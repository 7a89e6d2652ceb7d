"""The measured functions, each of q, k, v [batch, heads, seqlen, head_dim] with gradients."""

import importlib
import importlib.util
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
    attention: Callable[[Tensor, Tensor, Tensor, bool], Tensor]
    """(q, k, v, causal) -> out"""
    quadratic: bool
    """it has the whole matrix of logits in memory"""


def rivals(device: str, dtype: torch.dtype) -> tuple[list[Rival], dict[str, str]]:
    """The rivals that run here, Rapt first; and for each other rival, its name and why it does not run."""
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
    return present, absent


def _rapt():
    return lambda q, k, v, causal: rapt.torch.sdpa(q, k, v, is_causal=causal, enable_gqa=_grouped(q, k))


def _grouped(q, k):
    return q.shape[-3] != k.shape[-3]


def _torch(backend):
    def attention(q, k, v, causal):
        with sdpa_kernel([backend]):  # raises if the backend does not take the call
            return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=_grouped(q, k))

    return attention


def _torch_default():
    """What torch chooses: without Rapt, this is what runs."""
    return lambda q, k, v, causal: scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=_grouped(q, k))


def _native():
    """softmax(q k^T) v written out, in fp32, as the MI300X report compares with."""

    def attention(q, k, v, causal):
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

    def attention(q, k, v, causal):
        result = function(*(x.transpose(1, 2) for x in (q, k, v)), causal=causal)
        return (result[0] if isinstance(result, tuple) else result).transpose(1, 2)

    return attention


_MAKERS = {
    "rapt": _rapt,
    "torch": _torch_default,
    "torch flash": lambda: _torch(SDPBackend.FLASH_ATTENTION),
    "torch efficient": lambda: _torch(SDPBackend.EFFICIENT_ATTENTION),
    "torch cudnn": lambda: _torch(SDPBackend.CUDNN_ATTENTION),
    "torch math": lambda: _torch(SDPBackend.MATH),
    "native": _native,
    "flash_attn": lambda: _flash_attn_like("flash_attn"),
    "aiter ck": lambda: _flash_attn_like("aiter"),
    "aiter triton": lambda: _flash_attn_like("aiter.ops.triton.mha"),
}
