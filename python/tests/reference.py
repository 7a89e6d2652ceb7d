"""The reference for results, rapt._float64, which shares nothing with the tested code, and the rule."""

from rapt._float64 import attention_float64, error_and_allowance


def forward(q, k, v, dout=None, **options):
    """out and lse in float64, and bounds, of gradients too with dout; attention_float64's options."""
    results, bounds = attention_float64(q, k, v, dout, **options)
    return results["out"], results["lse"], bounds


def assert_within_rule(name, result, exact, plain, bounds):
    """The rule of docs/architecture.md; `result` and `plain` are tensors or arrays of their own type."""
    error, allowed = error_and_allowance(name, result, exact, plain, bounds)
    assert error <= allowed, f"{name}: error {error:.3e}, allowed {allowed:.3e}"
