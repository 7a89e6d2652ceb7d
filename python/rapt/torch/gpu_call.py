"""What torch's fused attention operators for tensors of a GPU share, besides rapt._core.Fused, which computes them.

Builds of torch for ROCm and for CUDA have these operators at the key CUDA. lse is the natural logarithm in torch's
kernels and in Rapt's, so either backward can follow either forward. With dropout only the same one can. With a bias
too: libraries have different lse for rows with nothing to attend. Rapt's seeds have a type of their own, which tells
whose forward it was.
"""

import functools
import math
import sys
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from rapt import _core
from rapt.torch import measured, operators
from rapt.torch.report import Counts

KEY = "CUDA"
# The type of Rapt's seeds, by their bits: torch's are integers. They are where torch's operators have the offset,
# because flash's first tensor has two numbers in builds for CUDA.
SEED = torch.float64
_TITLES = {"flash": "Flash Attention", "efficient": "Memory Efficient attention", "cudnn": "cuDNN Attention"}
ASKED_FOR = "sdpa_kernel() or torch.backends.cuda asks for it"

contiguous_rows = operators.contiguous_rows
empty_result = operators.empty_result
check_has_backward = operators.check_has_backward


def unread(query: Tensor, new: Callable) -> tuple[Tensor, Tensor]:
    """torch's number and Rapt's seed, which nobody reads without dropout. new: of a dtype and sizes."""
    return new(torch.int64), new(SEED)


def fused(
    name: str, counts: Counts, unread: Callable = unread, new_out: Callable | None = None, lse_multiple: int = 1,
    lse_column: bool = False,
) -> _core.Fused:  # fmt: skip
    """One of torch's operators; its arguments are those of rapt._core.Fused."""
    return _core.Fused(name, counts, sys.modules[__name__], unread, new_out, lse_multiple, lse_column)


def backend() -> str:
    return "hip" if torch.version.hip else "cuda"


def made(unread: Callable, query: Tensor) -> tuple[Tensor, ...]:
    """Results that nobody reads, for one call."""
    return unread(query, lambda dtype, sizes=(): torch.empty(sizes, dtype=dtype, device=query.device))


def kept(unread: Callable, query: Tensor) -> tuple[Tensor, ...]:
    """Results that nobody reads, for many calls."""
    with torch.inference_mode(False):  # otherwise no later call could save them for its backward
        memory = torch.from_dlpack(_core.empty((4,), query, True))  # torch's own may belong to a captured graph
        return unread(query, lambda dtype, sizes=(): memory.view(dtype)[: math.prod(sizes)].reshape(sizes))


def expanded(query: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """One float32 in the place of all: empty_like() of it has these sizes, and is dense."""
    with torch.inference_mode(False):
        return torch.from_dlpack(_core.empty((1,), query, True)).expand(sizes)


def draw_seed(query: Tensor) -> Tensor:
    """Dropout's seed, from torch's generator of the device: a captured graph draws another at each replay."""
    return torch.randint(2**63 - 1, (), dtype=torch.int64, device=query.device)


def with_seed(unread: tuple[Tensor, ...], seed: Tensor) -> tuple[Tensor, ...]:
    return (*unread[:-1], seed.view(SEED))


def read_seed(seed: Tensor) -> Tensor:
    return seed.view(torch.int64)


def warn_of_order(name: str):
    """torch's warning of a backward pass in any order where torch.use_deterministic_algorithms has warn_only=True."""
    warnings.warn(
        f"{_TITLES[name]} defaults to a non-deterministic algorithm; torch.use_deterministic_algorithms(True) without "
        "warn_only=True asks Rapt for equal bits",
        stacklevel=2,
    )


def heads_last(query: Tensor, head_dim: int) -> Tensor:
    """A result of query's shape that is in memory as [batch, seqlen, heads, head_dim]."""
    batch, heads, rows, _ = query.shape
    return torch.empty((batch, rows, heads, head_dim), dtype=query.dtype, device=query.device).transpose(1, 2)


def given(attn_bias: Tensor | None) -> Tensor | None:
    """The bias; None if torch has an empty tensor in its place."""
    return attn_bias if attn_bias is not None and attn_bias.numel() else None


def why_torch_computes(
    direction: str, query, key, has_bias, has_dropout, is_causal, alone
) -> tuple[str | None, str | None]:
    """Why a call is left to torch by the table of measurements, and why one that a graph captures; None if it is not.

    alone: no backward will follow
    """
    shape = measured.shape_of(query.shape, key.shape, query.dtype, has_bias, has_dropout, is_causal)
    return _why(direction, query.device, shape, alone)


@functools.lru_cache(4096)
def _why(direction, device, shape, alone):
    return tuple(measured.why_torch(direction, device, shape, alone, captured) for captured in (False, True))


def check(counts: Counts, direction: str, query, key, bias, dropout_p, is_causal):
    """Raises if torch computes the call faster."""
    if counts.always or query.device.type != "cuda":
        return
    why, why_captured = why_torch_computes(direction, query, key, bias is not None, dropout_p > 0, is_causal, False)
    if why != why_captured and torch.cuda.is_current_stream_capturing():
        why = why_captured
    if why is not None:
        raise NotImplementedError(why)
