"""What torch's fused attention operators for tensors of a GPU share, computed by Rapt.

Builds of torch for ROCm and for CUDA have these operators at the key CUDA. lse is the natural logarithm in torch's
kernels and in Rapt's, so either backward can follow either forward. With dropout only the same one can. With a bias
too: libraries have different lse for rows with nothing to attend. Rapt's seeds have a type of their own, which tells
whose forward it was.
"""

import functools

import torch
from torch import Tensor

from rapt import _core
from rapt.torch import measured
from rapt.torch.operators import contiguous_rows
from rapt.torch.report import Attempt, Counts

KEY = "CUDA"
# The type of Rapt's seeds, by their bits: torch's are integers. They are where torch's operators have the offset,
# because flash's first tensor has two numbers in builds for CUDA.
SEED = torch.float64


def forward(
    counts: Counts, query, key, value, bias, dropout_p, is_causal, scale, out: Tensor, lse: Tensor | None
) -> Tensor:
    """Writes out and lse. Returns dropout's seed, a number on the device.

    lse: [batch, heads, seqlen_q], or with a last dimension of 1; None if no backward follows
    Raises ValueError or NotImplementedError if Rapt does not take the call; nothing is written then.
    """
    options = _options(bias, is_causal, scale)
    if dropout_p:
        # From torch's generator of the device: a captured graph draws another at each replay.
        drawn = torch.randint(2**63 - 1, (), dtype=torch.int64, device=query.device)
        options |= {"dropout": dropout_p, "dropout_seed": drawn}
        seed = drawn.view(SEED)
    else:
        seed = unread(query, lse is not None, SEED)
    _core.forward(query, key, value, out, lse, **options)
    if _is_bound(bias, dropout_p):
        counts.bound += 1
    return seed


def backward(
    grad_out, query, key, value, bias, out, lse, dropout_p, seed, is_causal, scale, wanted=(True, True, True, False)
) -> list[Tensor | None]:
    """The wanted gradients of query, key, value and bias; None for the others. Raises as forward() does."""
    inputs = (query, key, value, bias)
    gradients = [torch.empty_like(x) if wants else None for x, wants in zip(inputs[:3], wanted, strict=False)]
    dbias = torch.empty(bias.shape, dtype=bias.dtype, device=bias.device) if wanted[3] else None
    options = _options(bias, is_causal, scale)
    if dropout_p:
        options |= {"dropout": dropout_p, "dropout_seed": seed.view(torch.int64)}
    _core.backward(query, key, value, out, lse, contiguous_rows(grad_out), *gradients, dbias, None, **options)
    return [*gradients, dbias]


def heads_last(query: Tensor, head_dim: int) -> Tensor:
    """A result of query's shape that is in memory as [batch, seqlen, heads, head_dim]."""
    batch, heads, rows, _ = query.shape
    return torch.empty((batch, rows, heads, head_dim), dtype=query.dtype, device=query.device).transpose(1, 2)


def unread(query: Tensor, returned: bool, dtype: torch.dtype = torch.int64, sizes: tuple[int, ...] = ()) -> Tensor:
    """For results of torch's operators that nobody reads without torch's dropout: the same tensor in each call.

    returned: torch may return it from a captured graph, so that its memory must be the graph's own then
    """
    if returned and captured(query):
        return torch.empty(sizes, dtype=dtype, device=query.device)
    return _kept(query.device, dtype, sizes)


def keep_unread(device: torch.device):
    """Makes unread()'s tensors, so that none of them is made in memory that a later graph will own."""
    for dtype, sizes in ((torch.int64, ()), (SEED, ()), (torch.uint64, (2,))):
        _kept(device, dtype, sizes)


@functools.lru_cache(256)
def _kept(device, dtype, sizes):
    with torch.inference_mode(False):  # otherwise no later call could save it for its backward
        return torch.empty(sizes, dtype=dtype, device=device)


def captured(query: Tensor) -> bool:
    """True if a graph captures this call."""
    return query.is_cuda and torch.cuda.is_current_stream_capturing()


def check(counts: Counts, direction: str, operator: str, query, key, bias, dropout_p, is_causal, alone=False):
    """Raises if the call is left to torch although Rapt could take it. alone: no backward will follow."""
    if operator != "flash" and direction == "forward" and not torch._C._get_flash_sdp_enabled():
        raise NotImplementedError("sdpa_kernel() or torch.backends.cuda asks for it")
    if counts.always or query.device.type != "cuda":
        return
    why, why_captured = measured.why_torch_computes(
        direction, query.device, query.shape, key.shape, query.dtype, bias is not None, dropout_p > 0, is_causal, alone
    )
    if why != why_captured and captured(query):
        why = why_captured
    if why is not None:
        raise NotImplementedError(why)


def attempt_backward(counts: Counts, operator: str, bias, dropout_p: float, philox_offset: Tensor) -> Attempt:
    return counts.attempt(operator, "backward", must=_is_bound(bias, dropout_p) and philox_offset.dtype == SEED)


def check_backward(counts: Counts, operator: str, query, key, bias, dropout_p, is_causal, philox_offset: Tensor):
    """Raises if the call is left to torch: its forward was torch's, Rapt is off, or torch is faster."""
    bound, ours = _is_bound(bias, dropout_p), philox_offset.dtype == SEED
    if bound and ours:
        return
    if counts.off:
        raise NotImplementedError("Rapt is off")
    if bound:
        raise NotImplementedError("the forward was torch's")
    check(counts, "backward", operator, query, key, bias, dropout_p, is_causal)


def given(attn_bias: Tensor | None) -> Tensor | None:
    """The bias; None if torch has an empty tensor in its place."""
    return attn_bias if attn_bias is not None and attn_bias.numel() else None


def _is_bound(bias, dropout_p):
    """True if the backward must be by the library that computed the forward."""
    return bias is not None or dropout_p > 0


def _options(bias, is_causal, scale):
    # on torch's current stream
    options = {"backend": "hip" if torch.version.hip else "cuda", "_heads_first": True}
    if torch.are_deterministic_algorithms_enabled():
        options["deterministic"] = True
    if bias is not None:
        options["bias"] = bias
    if is_causal:
        options["causal"] = "top-left"
    if scale is not None:
        options["softmax_scale"] = scale
    return options
