"""The kernels for a GPU's tensors, called with CPU tensors, as in a build of torch for CUDA."""

import pytest
import torch
from rapt.torch import flash_gpu
from rapt.torch.report import Counts


class Original:
    def call_boxed(self, *args, **options):
        return args, options


def inputs(seqlen_k=20):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2, 4, n, 16, generator=generator) for n in (20, seqlen_k, seqlen_k)]


@pytest.fixture
def on_cpu(monkeypatch):
    options = flash_gpu._options
    monkeypatch.setattr(flash_gpu, "_options", lambda *args: options(*args) | {"backend": "cpu"})


@pytest.mark.parametrize("causal", [False, True])
def test_results_are_as_torch_promises(on_cpu, causal):
    counts, tensors = Counts(), inputs()
    results = flash_gpu.forward(Original(), counts)(None, *tensors, 0.0, causal, scale=0.2)
    promised = torch.ops.aten._scaled_dot_product_flash_attention(*(x.to("meta") for x in tensors), 0.0, causal)
    assert len(results) == len(promised)
    for result, one in zip(results[:6], promised[:6], strict=True):
        if isinstance(one, int):
            assert result == one
        elif one is not None and one.numel():
            assert (result.shape, result.stride(), result.dtype) == (one.shape, one.stride(), one.dtype)

    leaves = [x.requires_grad_() for x in tensors]
    expected = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal, scale=0.2)
    torch.testing.assert_close(results[0], expected.detach(), rtol=1e-5, atol=1e-5)
    dout = torch.ones(()).expand(results[0].shape)
    backward = flash_gpu.backward(Original(), counts)
    gradients = backward(None, dout, *tensors, *results[:6], 0.0, causal, *results[6:8], scale=0.2)
    for gradient, one in zip(gradients, torch.autograd.grad(expected, leaves, dout), strict=True):
        torch.testing.assert_close(gradient, one, rtol=1e-5, atol=1e-5)
    assert counts.taken == {"forward": 1, "backward": 1} and not counts.refused


def test_deterministic_algorithms_are_asked_for():
    assert "deterministic" not in flash_gpu._options(False, None)
    torch.use_deterministic_algorithms(True)
    try:
        assert flash_gpu._options(False, None)["deterministic"]
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(
    "tensors, dropout, causal, reason",
    [(inputs(), 0.1, False, "dropout"), (inputs(30), 0.0, True, "seqlen_q != seqlen_k"), (inputs(), 0.0, True, "cuda")],
    ids=["dropout", "causal", "no backend"],
)
def test_calls_that_go_to_torch(tensors, dropout, causal, reason):
    counts = Counts()
    arguments = (*tensors, dropout, causal, False)
    assert flash_gpu.forward(Original(), counts)("keys", *arguments, scale=2.0) == (
        ("keys", *arguments),
        {"scale": 2.0},
    )
    out, lse, number = tensors[0], torch.zeros(2, 4, 20), torch.zeros(())
    arguments = (out, *tensors, out, lse, number, number, 20, 20, dropout, causal, number, number)
    args, options = flash_gpu.backward(Original(), counts)("keys", *arguments, scale=2.0)
    assert all(x is y for x, y in zip(args, ("keys", *arguments), strict=True)) and options == {"scale": 2.0}
    assert sum(counts.refused.values()) == 2 and all(reason in message for message in counts.refused)
