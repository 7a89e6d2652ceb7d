"""What results are compared with: rapt._float64, which shares nothing with what is tested, and the rule."""

import numpy as np
from rapt._float64 import attention_float64, error_and_allowance


def forward(q, k, v, **options):
    """out and lse in float64, and the largest logit; the options of rapt.attention."""
    results, largest_logit = attention_float64(q, k, v, **options)
    return results["out"], results["lse"], largest_logit


def assert_within_rule(name, result, exact, plain, largest_logit):
    """The rule of docs/architecture.md; tensors on the host or arrays."""
    result, exact, plain = (None if x is None else np.asarray(x, np.float64) for x in (result, exact, plain))
    error, allowed = error_and_allowance(name, result, exact, plain, largest_logit)
    assert error <= allowed, f"{name}: error {error:.3e}, allowed {allowed:.3e}"
