"""explain(): which kernel runs a problem, and why the others do not."""

from typing import Literal, NamedTuple, Unpack

from rapt import _core
from rapt._options import Options, Tensor
from rapt._results import empty, empty_lse, shape_of

_DEVICE_TYPES = {"cpu": 1, "cuda": 2, "hip": 10}


class Candidate(NamedTuple):
    backend: str
    kernel: str
    """the kernel that the backend runs, or would run; "" if it has none"""
    chosen: bool
    reason: str


class Explanation(NamedTuple):
    problem: str
    """the problem as text: "b2 hq8 hk2 sq1000 sk1000 d128 bf16 causal" """
    candidates: list[Candidate]

    @property
    def chosen(self) -> Candidate | None:
        return next((c for c in self.candidates if c.chosen), None)

    def __str__(self):
        lines = [self.problem]
        for c in self.candidates:
            lines.append(f"{'->' if c.chosen else '  '} {c.backend:<6} {c.kernel}\n          {c.reason}")
        return "\n".join(lines)


def explain(
    problem: str | Tensor,
    k: Tensor | None = None,
    v: Tensor | None = None,
    *,
    op: Literal["forward", "backward"] = "forward",
    device: str = "cpu",
    **options: Unpack[Options],
) -> Explanation:
    """Say which backend and kernel run a problem here, and why each other one does not. Computes and writes nothing.

    explain(q, k, v, **options): tensors, as for attention()
    explain("b2 hq8 hk2 sq1000 sk1000 d128 bf16 causal", device="hip:0"): a problem as text (docs/naming.md has the
        grammar) on a device: "cpu", "hip:<number>" or "cuda:<number>"; options may only say how to run it

    Raises as attention() does. A problem that no backend takes is not an error: `chosen` is then None.
    """
    if op not in ("forward", "backward"):
        raise ValueError(f"op must be 'forward' or 'backward'; it is {op!r}")
    if isinstance(problem, str):
        return _explanation(*_core.explain_problem(problem, op == "backward", _device(device), **options))
    q = problem
    out = empty(q, (*shape_of(q, "q")[:-1], shape_of(v, "v")[-1]))
    if op == "forward":
        return _explanation(*_core.explain_forward(q, k, v, out, **options))
    inputs = (q, k, v, options.get("bias"), options.get("sink"))
    gradients = [None if x is None else empty(x, tuple(shape_of(x, "a tensor", any_rank=True))) for x in inputs]
    return _explanation(*_core.explain_backward(q, k, v, out, empty_lse(q), out, *gradients, **options))


def _explanation(problem, candidates):
    return Explanation(problem, [Candidate(*candidate) for candidate in candidates])


def _device(text):
    kind, _, number = text.partition(":")
    if kind not in _DEVICE_TYPES or not (number or "0").isdigit():
        raise ValueError(f"device must be 'cpu', 'hip:<number>' or 'cuda:<number>'; it is {text!r}")
    return _DEVICE_TYPES[kind], int(number or 0)
