"""Memory for results, of the kind that the caller's own tensors are."""

import sys

import numpy

from rapt import _core


def shape_of(tensor, name):
    """The shape as a tuple, for a tensor of 3 (packed sequences) or 4 dimensions; `name` is the argument's."""
    shape = getattr(tensor, "shape", None)
    if shape is None:
        shape = _core.shape(tensor, name)
    if len(shape) not in (3, 4):
        raise ValueError(
            f"{name} has the shape {tuple(shape)}; it must be [batch, seqlen, heads, head_dim], or "
            f"[total, heads, head_dim] with cu_seqlens"
        )
    return shape


def empty(like, shape):
    """A tensor that is not set, of the library, type and device of `like`."""
    if isinstance(like, numpy.ndarray):
        return numpy.empty(shape, like.dtype)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return torch.empty(shape, dtype=like.dtype, device=like.device)
    return _taken_over(_core.empty(shape, like, False), like)


def empty_lse(q):
    """[batch, heads_q, seqlen_q], or [heads_q, total_q]; fp32, or fp64 where q is."""
    *batch, seqlen, heads, _ = shape_of(q, "q")
    shape = (*batch, heads, seqlen)
    if isinstance(q, numpy.ndarray):
        return numpy.empty(shape, q.dtype if q.dtype == numpy.float64 else numpy.float32)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(q, torch.Tensor):
        return torch.empty(shape, dtype=q.dtype if q.dtype == torch.float64 else torch.float32, device=q.device)
    return _taken_over(_core.empty(shape, q, True), q)


def _taken_over(memory, like):
    """An object with __dlpack__, as an array of the library of `like` where that says what it is."""
    if not hasattr(like, "__array_namespace__"):
        return memory
    return like.__array_namespace__().from_dlpack(memory)
