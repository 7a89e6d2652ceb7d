"""The kernels for a GPU's tensors, called with CPU tensors, as in builds of torch for CUDA and for ROCm."""

import warnings

import pytest
import torch
from rapt.torch import cudnn_gpu, efficient_gpu, flash_gpu, gpu_call
from rapt.torch.report import Counts
from torch.nn.functional import scaled_dot_product_attention

pytestmark = pytest.mark.skipif(
    not hasattr(torch.library, "get_kernel"), reason="this torch does not give its kernels out"
)

MODULES = {module.NAME: module for module in (flash_gpu, efficient_gpu, cudnn_gpu)}


class Original:
    """torch's kernel: returns what it is called with."""

    def call_boxed(self, *args, **options):
        return args, options


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch):
    monkeypatch.setattr(gpu_call, "backend", lambda: "cpu")


class Operators:
    """A module's two kernels with one signature: forward(...), then backward(dout)."""

    def __init__(self, name, counts=None):
        self.name, self.module, self.counts = name, MODULES[name], counts or Counts()

    def arguments(self, q, k, v, bias, dropout, causal):
        if self.name == "flash":
            return q, k, v, dropout, causal
        return q, k, v, bias, True, dropout, causal

    def promised(self, *args, scale=None):
        operator = getattr(torch.ops.aten, self.module.FORWARD.removeprefix("aten::"))
        meta = [x.to("meta") if isinstance(x, torch.Tensor) else x for x in self.arguments(*args)]
        return operator(*meta, scale=scale)

    def forward(self, q, k, v, bias=None, dropout=0.0, causal=False, scale=None):
        self.call = q, k, v, bias, dropout, causal, scale
        kernel = self.module.forward(Original(), self.counts)
        self.results = kernel("keys", *self.arguments(q, k, v, bias, dropout, causal), scale=scale)
        return self.results

    def backward(self, dout):
        q, k, v, bias, dropout, causal, scale = self.call
        out, lse, *middle = self.results
        if self.name == "efficient":
            seed, offset = middle
            bias = torch.empty(0) if bias is None else bias
            args = (q, k, v, bias, out, lse, seed, offset, dropout, [True, True, True, bias.requires_grad], causal)
        else:
            *lengths, seed, offset, _ = middle
            if self.name == "flash":
                args = (q, k, v, out, lse, *lengths, dropout, causal, seed, offset)
            else:
                bias = torch.empty(0) if bias is None else bias
                args = (q, k, v, out, lse, seed, offset, bias, *lengths, dropout, causal)
        self.passed = ("keys", dout, *args)
        return self.module.backward(Original(), self.counts)(*self.passed, scale=scale)


def inputs(seqlen_k=20, head_dim_v=16):
    generator = torch.Generator().manual_seed(1)
    shapes = ((20, 16), (seqlen_k, 16), (seqlen_k, head_dim_v))
    return [torch.randn(2, 4, *shape, generator=generator) for shape in shapes]


def close(results, expected):
    for result, one in zip(results, expected, strict=True):
        torch.testing.assert_close(result, one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("build", ["cuda", "rocm"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_results_are_as_torch_promises(name, causal, build, monkeypatch):
    if build == "rocm":  # torch's promises of shapes ask for these
        monkeypatch.setattr(torch.version, "hip", "7.2")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    operators, tensors = Operators(name), inputs()
    results = operators.forward(*tensors, causal=causal, scale=0.2)
    promised = operators.promised(*tensors, None, 0.0, causal, scale=0.2)
    assert len(results) == len(promised)
    for i, (result, one) in enumerate(zip(results, promised, strict=True)):
        if isinstance(one, int):
            assert result == one
        elif one is not None and one.numel():
            assert (result.shape, result.stride()) == (one.shape, one.stride())
            assert result.dtype == one.dtype or i >= len(promised) - 3  # the numbers of dropout

    leaves = [x.requires_grad_() for x in tensors]
    expected = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal, scale=0.2)
    close(results[:1], [expected.detach()])
    dout = torch.ones(()).expand(results[0].shape)
    close(operators.backward(dout)[:3], torch.autograd.grad(expected, leaves, dout))
    assert operators.counts.taken == {"forward": 1, "backward": 1} and not operators.counts.refused


@pytest.mark.parametrize("name", MODULES)
def test_deterministic_algorithms_that_only_warn(name):
    operators = Operators(name)
    out, *_ = operators.forward(*inputs())
    try:
        torch.use_deterministic_algorithms(True, warn_only=True)
        with pytest.warns(UserWarning, match=f"(?i){name}.* attention defaults to a non-deterministic algorithm"):
            operators.backward(torch.ones_like(out))
        torch.use_deterministic_algorithms(True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            operators.backward(torch.ones_like(out))
    finally:
        torch.use_deterministic_algorithms(False)
    assert operators.counts.taken == {"forward": 1, "backward": 2}


@pytest.mark.parametrize("name", ["efficient", "cudnn"])
def test_a_forward_that_no_backward_follows(name):
    """Its results besides out cost nothing: they are the same tensors in each call."""
    kernel = MODULES[name].forward(Original(), Counts())
    q, k, v = (torch.randn(2, 4, 20, 32) for _ in range(3))
    out, lse, *rest = kernel("keys", q, k, v, None, False)
    torch.testing.assert_close(out, scaled_dot_product_attention(q, k, v))
    assert lse.shape == (2, 4, 0) if name == "efficient" else lse is None  # as torch's
    again = kernel("keys", q, k, v, None, False)
    assert again[0].data_ptr() != out.data_ptr()
    tensors = [[x.data_ptr() for x in results if isinstance(x, torch.Tensor)] for results in (rest, again[2:])]
    assert len(tensors[0]) == 2 and tensors[0] == tensors[1]  # seed and offset
    torch.testing.assert_close(kernel("keys", q, k, v, None, True)[0], out)


@pytest.mark.parametrize("expanded", [False, True])
@pytest.mark.parametrize("name", ["efficient", "cudnn"])
def test_a_bias(name, expanded):
    tensors = inputs(30, 24)
    bias = torch.randn(1, 1, 20, 33)[..., :30]
    bias[..., 3, :] = -torch.inf
    bias = bias.expand(2, 4, 20, 30) if expanded else bias.expand(2, 4, 20, 30).clone()
    leaves = [x.detach().requires_grad_() for x in (*tensors, bias)]
    expected = torch.nn.functional.scaled_dot_product_attention(*leaves[:3], leaves[3]).nan_to_num()
    operators = Operators(name)
    out, lse, *_ = operators.forward(*(x.detach() for x in tensors), bias.requires_grad_(name == "efficient"))
    assert operators.counts.bound == 1
    close([out], [expected.detach()])
    gradients = operators.backward(torch.ones_like(out))
    for result, one in zip(gradients, torch.autograd.grad(expected.sum(), leaves), strict=False):
        torch.testing.assert_close(result, one.nan_to_num(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODULES)
def test_dropout_has_one_mask_in_both_passes(name):
    q, k, _ = inputs()
    v = torch.eye(20).expand(2, 4, 20, 20).contiguous()  # out is the matrix of probabilities
    operators = Operators(name)
    out, *_ = operators.forward(q, k, v, dropout=0.5)
    assert 0.4 < (out == 0).float().mean() < 0.6 and operators.counts.bound == 1
    dv = operators.backward(torch.ones_like(out))[2]
    close([dv], [out.sum(2)[..., None].expand(-1, -1, -1, 20)])
    assert not torch.equal(Operators(name).forward(q, k, v, dropout=0.5)[0], out)


@pytest.mark.parametrize("name", MODULES)
def test_dropout_of_another_forward(name):
    """Each backward with dropout follows its own forward, whatever was switched in between."""
    operators = Operators(name)
    results = operators.forward(*inputs(), dropout=0.5)
    operators.counts.off = True
    gradients = operators.backward(torch.ones_like(results[0]))
    assert all(torch.is_tensor(x) for x in gradients[:3])
    operators.counts.off = False
    operators.results = [torch.zeros((), dtype=torch.int64) if x is results[-1] or x is results[-2] else x
                         for x in results]  # fmt: skip
    args, _ = operators.backward(torch.ones_like(results[0]))
    assert all(x is y for x, y in zip(args, operators.passed, strict=True))
    assert "the forward was torch's" in next(iter(operators.counts.refused))


@pytest.mark.parametrize("name", MODULES)
def test_backward_while_rapt_is_off(name):
    operators = Operators(name)
    results = operators.forward(*inputs())
    operators.counts.off = True
    args, _ = operators.backward(torch.ones_like(results[0]))
    assert args[0] == "keys" and not operators.counts.refused


@pytest.mark.parametrize("name", ["efficient", "cudnn"])
def test_a_users_own_choice(name):
    operators = Operators(name)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION):
        assert operators.forward(*inputs())[0][0] == "keys"
    assert operators.counts.refused == {f"{name}: {gpu_call.ASKED_FOR}": 1}


def test_results_of_inference_mode_do_not_reach_training():
    """The results that nobody reads are the same in both, and autograd saves them."""
    kernel = cudnn_gpu.forward(Original(), Counts())
    q = torch.randn(1, 2, 8, 16)
    with torch.inference_mode():
        kernel("keys", q, q, q, None, True)
    assert not any(x.is_inference() for x in kernel("keys", q, q, q, None, True) if isinstance(x, torch.Tensor))


@pytest.mark.parametrize("name", MODULES)
def test_calls_that_go_to_torch(name, monkeypatch):
    monkeypatch.setattr(gpu_call, "backend", lambda: "cuda")
    operators, tensors = Operators(name), inputs()
    args, passed = operators.forward(*tensors, causal=True, scale=2.0)
    assert args[:4] == ("keys", *tensors) and passed == {"scale": 2.0}
    number = torch.zeros(())
    operators.results = {"efficient": (tensors[0], torch.zeros(2, 4, 32), number, number)}.get(
        name, (tensors[0], torch.zeros(2, 4, 20), number, number, 20, 20, number, number, None)
    )
    args, passed = operators.backward(tensors[0])
    assert all(x is y for x, y in zip(args, operators.passed, strict=True)) and passed == {"scale": 2.0}
    assert sum(operators.counts.refused.values()) == 2
    assert all(reason.startswith(f"{name}: ") and "cuda" in reason for reason in operators.counts.refused)


def test_causal_of_different_lengths():
    operators = Operators("flash")
    assert operators.forward(*inputs(30), causal=True)[0][0] == "keys"
    assert "seqlen_q != seqlen_k" in next(iter(operators.counts.refused))


def test_calls_for_which_torch_has_an_error():
    """PyTorch's own tests of the efficient operator ask for these errors."""
    counts = Counts()
    q = torch.randn(1, 1, 2, 8).expand(65536, 1, 2, 8)
    kernel = efficient_gpu.forward(Original(), counts)
    assert kernel("keys", q, q, q, None, True, 0.1)[0] == ("keys", q, q, q, None, True, 0.1, False)
    assert list(counts.refused) == ["efficient: dropout in more than 65535 sequences: torch has an error for it"]
    operators, tensors = Operators("efficient"), inputs()
    out, lse, *numbers = operators.forward(*tensors)
    passed = ("keys", out, *tensors, None, out, lse, *numbers, 0.0, (True,) * 4, False)
    assert efficient_gpu.backward(Original(), counts)(*passed)[0] == passed
