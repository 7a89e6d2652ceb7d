"""The C++ API for Python objects: results are written to memory that the caller passes. rapt/__init__.py has the rest.

Options are those of rapt.Options; shapes and errors are those of rapt.attention. Autograd history is ignored and not
recorded.
"""

from collections.abc import Callable
from typing import Any, Unpack

from rapt._options import Options, Tensor

version: str

_Explanation = tuple[str, list[tuple[str, str, bool, str]]]  # problem; backend, kernel, chosen, reason of each

def forward(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor | None = None, **options: Unpack[Options]
) -> None: ...
def forward_workspace(q: Tensor, k: Tensor, v: Tensor, out: Tensor, **options: Unpack[Options]) -> int:
    """Bytes of `workspace` that forward() can use."""

def time_forward(q: Tensor, k: Tensor, v: Tensor, out: Tensor, calls: int, **options: Unpack[Options]) -> float:
    """The mean seconds of the C call itself, over that many calls."""

def explain_forward(q: Tensor, k: Tensor, v: Tensor, out: Tensor, **options: Unpack[Options]) -> _Explanation: ...
def backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    dq: Tensor | None = None,
    dk: Tensor | None = None,
    dv: Tensor | None = None,
    dbias: Tensor | None = None,
    dsink: Tensor | None = None,
    **options: Unpack[Options],
) -> None: ...
def backward_workspace(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    dq: Tensor | None = None,
    dk: Tensor | None = None,
    dv: Tensor | None = None,
    dbias: Tensor | None = None,
    dsink: Tensor | None = None,
    **options: Unpack[Options],
) -> int:
    """Bytes of `workspace` that backward() can use."""

def explain_backward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    dout: Tensor,
    dq: Tensor | None = None,
    dk: Tensor | None = None,
    dv: Tensor | None = None,
    dbias: Tensor | None = None,
    dsink: Tensor | None = None,
    **options: Unpack[Options],
) -> _Explanation: ...
def explain_problem(problem: str, backward: bool, device: tuple[int, int], **options: Unpack[Options]) -> _Explanation:
    """device: DLPack's device type and number; options: only those that say how to run."""

def problem_flops(problem: str, backward: bool) -> float:
    """Floating-point operations of one pass, windows and causality counted exactly."""

def empty(shape: tuple[int, ...], like: Tensor, is_lse: bool) -> Any:
    """Memory on the device of `like` for its type, or for that of its lse, as an object with __dlpack__."""

def shape(object: Tensor, name: str) -> tuple[int, ...]: ...
def cpu_tiers() -> list[tuple[str, bool]]:
    """The CPU's instruction tiers, fastest on this processor first, and whether this machine runs each."""

def devices(type: int) -> list[dict[str, Any]]:
    """The devices of a DLPack device type. RuntimeError if its run-time library cannot be opened."""

def preload(type: int, id: int) -> None:
    """Loads all kernels of a device, so that calls in captured streams load none."""

def archives() -> list[tuple[str, str]]:
    """The path of each kernel archive that is found, and what is in it."""

def archive_kernels(path: str) -> list[str]:
    """The names of an archive's kernels. RuntimeError if it cannot be read."""

class Fused:
    """One of torch's fused attention operators for tensors of a GPU, computed by Rapt or left to torch.

    Tensors are torch's, [batch, heads, seqlen, head_dim]; bias is [batch, heads, seqlen_q, seqlen_k].

    name: for reasons
    counts: a rapt.torch.report.Counts, which counts the calls
    side: the module rapt.torch.gpu_call
    unread: makes what nobody reads without dropout, its seed last, for a query and a maker of tensors
    new_out: makes out for a query and head_dim_v; None: in the order of the query's memory
    lse_multiple: lse has a multiple of this many rows
    lse_column: lse has a last dimension of 1
    """

    def __init__(
        self,
        name: str,
        counts: Any,
        side: Any,
        unread: Callable,
        new_out: Callable | None,
        lse_multiple: int,
        lse_column: bool,
    ) -> None: ...
    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | None,
        dropout: float,
        causal: bool,
        scale: float | None,
        wants_lse: bool,
    ) -> tuple[Any, Any, tuple] | None:
        """(out, lse or None, what nobody reads), or None if the call is left to torch."""

    def backward(
        self,
        dout: Tensor,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | None,
        out: Tensor,
        lse: Tensor,
        dropout: float,
        seed: Tensor | None,
        causal: bool,
        scale: float | None,
        wanted: tuple[bool, bool, bool, bool],
    ) -> tuple[Any, Any, Any, Any] | None:
        """(dq, dk, dv, dbias), None for what is not wanted; or None if the call is left to torch."""
