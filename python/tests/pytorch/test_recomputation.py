"""Dropout where the forward is computed again in the backward: by partitioners of graphs and by checkpoints."""

import functools

import pytest
import rapt.torch
import torch
import torch._functorch.config
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

ROWS = 64


@pytest.fixture(autouse=True)
def fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def attend(q, k, v):
    return rapt.torch.sdpa(q.sin(), k.sin(), v * 1.0, dropout_p=0.4)


def selective(policy, *tensors):
    contexts = functools.partial(create_selective_checkpoint_contexts, lambda *_, **__: policy)
    return checkpoint(attend, *tensors, use_reentrant=False, context_fn=contexts)


FUNCTIONS = {
    "plain": attend,
    "checkpoint": lambda *tensors: checkpoint(attend, *tensors, use_reentrant=False),
    "selective, may": functools.partial(selective, CheckpointPolicy.PREFER_RECOMPUTE),
    "selective, must": functools.partial(selective, CheckpointPolicy.MUST_RECOMPUTE),
}


def assert_same_mask_in_the_backward(function):
    """The values are the identity, so out is the probabilities after dropout, and dv their transpose times dout."""
    torch.manual_seed(0)
    q, k = (torch.randn(1, 2, ROWS, 8, requires_grad=True) for _ in range(2))
    v = torch.eye(ROWS).expand(1, 2, -1, -1).clone().requires_grad_()
    out = function(q, k, v)
    assert 0.5 < (out != 0).float().mean() < 0.7
    dout = torch.randn_like(out)
    (dv,) = torch.autograd.grad(out, v, dout)
    torch.testing.assert_close(dv, out.detach().mT @ dout, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_eager(name):
    assert_same_mask_in_the_backward(FUNCTIONS[name])


SETTINGS = [{}, {"aggressive_recomputation": True}, *({"activation_memory_budget": x} for x in (0.5, 0.1, 0.01))]


def compiled(function, backend, setting):
    if not all(hasattr(torch._functorch.config, name) for name in setting):
        pytest.skip("this torch has no such setting")
    with torch._functorch.config.patch(setting):
        assert_same_mask_in_the_backward(torch.compile(function, backend=backend, fullgraph=True))


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_partitioners(name, setting):
    compiled(FUNCTIONS[name], "aot_eager_decomp_partition", setting)


@pytest.mark.parametrize("setting", SETTINGS[1:3], ids=str)
def test_inductor(setting):
    compiled(attend, "inductor", setting)


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="this torch does not give its kernels out")
def test_takeover():
    def math(q, k, v):
        return scaled_dot_product_attention(q.sin(), k.sin(), v * 1.0, dropout_p=0.4)

    with rapt.torch.enabled():
        compiled(math, "aot_eager_decomp_partition", {"activation_memory_budget": 0.5})
        assert rapt.torch.report().taken["traced"]


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(Exception, match="activation_memory_budget 0"):
        compiled(attend, "aot_eager_decomp_partition", {"activation_memory_budget": 0})
