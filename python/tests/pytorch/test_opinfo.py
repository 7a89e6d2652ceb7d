"""torch's own samples of attention (OpInfo, in its package): what torch computes and refuses, enabled Rapt does too."""

import pytest
import rapt.torch
import torch

pytest.importorskip("expecttest", reason="torch.testing._internal needs it")
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

OPERATORS = {
    op.name: op
    for op in op_db
    if op.name in ("nn.functional.scaled_dot_product_attention", "nn.functional.multi_head_attention_forward")
}
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def without_dropout(arguments):
    return [0.0 if isinstance(x, float) else x for x in arguments]  # only dropout is a float in these samples


def results(operator, sample, dtype):
    """The results, and the gradients, with tensors of this type; and the largest element of an input."""

    def converted(x):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            return x
        return x.detach().to(dtype).requires_grad_(x.requires_grad)

    first, *args = map(converted, (sample.input, *without_dropout(sample.args)))
    kwargs = dict(zip(sample.kwargs, map(converted, without_dropout(sample.kwargs.values())), strict=True))
    out = operator(first, *args, **kwargs)
    outs = [x for x in (out if isinstance(out, tuple) else (out,)) if x is not None]
    inputs = [x for x in (first, *args, *kwargs.values()) if isinstance(x, torch.Tensor) and x.requires_grad]
    gradients = torch.autograd.grad(outs, inputs, [torch.ones_like(x) for x in outs], allow_unused=True)
    return outs, [x for x in gradients if x is not None], max(x.abs().max().item() for x in inputs)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_samples(name, dtype):
    operator = OPERATORS[name]
    samples = list(operator.sample_inputs("cpu", dtype, requires_grad=True))
    assert samples
    for sample in samples:
        exact, stock = (results(operator, sample, x) for x in (torch.float64, dtype))
        with rapt.torch.enabled(always=True):
            ours = results(operator, sample, dtype)
        square = exact[2] ** 2
        logit = square * sample.input.shape[-1] ** 0.5  # none is larger; float32 rounds it, and so its exponential
        relative = 4 * torch.finfo(dtype).eps + torch.finfo(torch.float32).eps * logit
        # the backward multiplies the rounding of out by v, and by q or k
        for i, least in enumerate((0.0, 4 * torch.finfo(dtype).eps * square)):
            assert len(ours[i]) == len(stock[i]) == len(exact[i])
            for each in zip(ours[i], stock[i], exact[i], strict=True):
                check(*each, relative, least)


def check(x, stock, exact, relative, least):
    """The error is not much above torch's, or what rounding explains."""
    assert x.dtype == stock.dtype and x.shape == stock.shape
    if stock.isfinite().all():  # torch's own products of these samples may be beyond fp16
        error, of_torch = ((y.double() - exact).abs().max() for y in (x, stock))
        assert error <= 2 * of_torch + relative * exact.abs().max() + least
