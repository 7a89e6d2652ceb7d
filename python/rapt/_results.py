"""Memory for results, in the library of the caller's tensors."""

import sys

import numpy

from rapt import _core


def shape_of(tensor, name, any_rank=False):
    """The tensor's shape, of 3 dimensions (packed sequences), 4, or with any_rank any number; `name` is for errors."""
    shape = getattr(tensor, "shape", None)
    if shape is None:
        shape = _core.shape(tensor, name)
    if len(shape) not in (3, 4) and not any_rank:
        raise ValueError(
            f"{name} has the shape {tuple(shape)}; it must be [batch, seqlen, heads, head_dim], or "
            f"[total, heads, head_dim] with cu_seqlens"
        )
    return shape


def empty(like, shape):
    """Uninitialised memory of the library, type and device of `like`; see handed_over."""
    if isinstance(like, numpy.ndarray):
        return numpy.empty(shape, like.dtype)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return torch.empty(shape, dtype=like.dtype, device=like.device)
    return _core.empty(shape, like, False)


def empty_lse(q):
    """[batch, heads_q, seqlen_q], or [heads_q, total_q]; fp32, or fp64 where q is."""
    *batch, seqlen, heads, _ = shape_of(q, "q")
    shape = (*batch, heads, seqlen)
    if isinstance(q, numpy.ndarray):
        return numpy.empty(shape, q.dtype if q.dtype == numpy.float64 else numpy.float32)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(q, torch.Tensor):
        return torch.empty(shape, dtype=q.dtype if q.dtype == torch.float64 else torch.float32, device=q.device)
    return _core.empty(shape, q, True)


_Memory = type(_core.empty((1,), numpy.empty(1), False))


def handed_over(memory, like):
    """Written memory as an array of `like`'s library, if the library has a from_dlpack.

    It becomes an array only after it is written, because JAX's arrays cannot be written.
    """
    if type(memory) is not _Memory:
        return memory
    if hasattr(like, "__array_namespace__"):
        library = like.__array_namespace__()
    else:  # CuPy's arrays do not name their library
        library = sys.modules.get(type(like).__module__.partition(".")[0])
    return library.from_dlpack(memory) if hasattr(library, "from_dlpack") else memory
