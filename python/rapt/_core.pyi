"""The C++ API for Python objects: results are written to memory that the caller passes. rapt/__init__.py has the rest.

Options are those of rapt.Options; shapes and errors are those of rapt.attention. Autograd history is ignored and not
recorded.
"""

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
