"""Whether this torch's operators have the arguments that Rapt's kernels in their place take."""

import functools
import inspect
import warnings
from collections.abc import Callable
from types import ModuleType

import torch

from rapt.torch.report import Counts


def difference(name: str, kernel: Callable) -> str:
    """How the operator differs from what the kernel takes, or "". The kernel's first argument is the dispatch keys."""
    operator = getattr(torch.ops.aten, name.removeprefix("aten::"), None)
    if operator is None:
        return "it has no such operator"
    theirs = operator.default._schema.arguments
    ours = list(inspect.signature(kernel).parameters.values())[1:]
    in_a_row = sum(not argument.kwarg_only for argument in theirs)
    known = sum(parameter.kind is not inspect.Parameter.KEYWORD_ONLY for parameter in ours)
    if in_a_row != known:
        return f"the operator has {in_a_row} positional arguments, Rapt knows {known}"
    unknown = {argument.name for argument in theirs if argument.kwarg_only} - {parameter.name for parameter in ours}
    return f"the operator has an argument that Rapt does not know: {', '.join(sorted(unknown))}" if unknown else ""


@functools.cache
def known(module: ModuleType) -> bool:
    """True if Rapt can take the module's operators over; otherwise a warning says once why not."""
    for direction in ("FORWARD", "BACKWARD"):
        name = getattr(module, direction, None)
        why = difference(name, getattr(module, direction.lower())(None, Counts())) if name else ""
        if why:
            warnings.warn(
                f"rapt.torch.enable(): calls of {name} stay with torch {torch.__version__}: {why}. A newer Rapt may "
                "know it",
                stacklevel=2,
            )
            return False
    return True
