"""rapt.torch.enable(): calls for which torch has no fused kernel, and which its math would compute."""

import pytest
import rapt.torch
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend

pytestmark = pytest.mark.skipif(
    not hasattr(torch.library, "get_kernel"), reason="this torch does not give its kernels out"
)


@pytest.fixture(autouse=True)
def off_afterwards():
    yield
    rapt.torch.disable()


def qkv(dtype=torch.float32, head_dim_v=16):
    generator = torch.Generator().manual_seed(1)
    shapes = ((2, 4, 50, 16), (2, 4, 70, 16), (2, 4, 70, head_dim_v))
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


def gradients(out, inputs):
    return torch.autograd.grad(out.square().sum(), inputs)


def test_another_head_dim_of_v():
    inputs = qkv(head_dim_v=24)
    expected = attend(*inputs)
    with rapt.torch.enabled():
        out = attend(*inputs)
        results = gradients(out, inputs)
        assert rapt.torch.report().taken == {"forward": 1, "backward": 1} and not rapt.torch.report().refused
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)
    for x, y in zip(results, gradients(expected, inputs), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-4)


def test_a_result_may_be_changed_in_place():
    inputs = qkv(head_dim_v=24)
    expected = gradients(attend(*inputs) * 3 + 1, inputs)
    with rapt.torch.enabled():
        results = gradients(attend(*inputs).mul_(3).add_(1), inputs)
        assert rapt.torch.report().taken == {"forward": 1, "backward": 1}
    for x, y in zip(results, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-4)


def test_a_mask_with_a_gradient():
    inputs = [*qkv(), torch.randn(1, 4, 50, 70, requires_grad=True)]
    expected = attend(*inputs)
    with rapt.torch.enabled():
        results = gradients(attend(*inputs), inputs)
        assert rapt.torch.report().taken == {"forward": 1, "backward": 1}
    for x, y in zip(results, gradients(expected, inputs), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-4)


def test_dropout_has_one_mask_in_both_passes():
    q, k, _ = (x.detach() for x in qkv())
    v = torch.eye(70).expand(2, 4, 70, 70).clone().requires_grad_()  # out is the matrix of probabilities
    with rapt.torch.enabled():
        out = attend(q, k, v, dropout_p=0.5)
        (gradient,) = torch.autograd.grad(out.sum(), [v])
        assert rapt.torch.report().taken == {"forward": 1, "backward": 1}
        assert not torch.equal(attend(q, k, v, dropout_p=0.5), out)
    assert 0.4 < (out == 0).float().mean() < 0.6
    torch.testing.assert_close(gradient, out.detach().sum(2)[..., None].expand(-1, -1, -1, 70), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("grad", [True, False])
def test_compiled_graphs(grad):
    inputs = qkv(head_dim_v=24)
    expected = attend(*inputs)
    torch.compiler.reset()
    with rapt.torch.enabled(), torch.set_grad_enabled(grad):
        compiled = torch.compile(lambda *x: attend(*x) + 1, backend="aot_eager", fullgraph=True)
        out = compiled(*inputs)
        assert set(rapt.torch.report().taken) == {"traced"} and "traced" in str(rapt.torch.report())
    torch.testing.assert_close(out, expected + 1, rtol=1e-5, atol=1e-5)
    if grad:
        for x, y in zip(gradients(out - 1, inputs), gradients(expected, inputs), strict=True):
            torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-4)


def test_a_compiled_graph_that_saves_nothing_has_torchs_dropout():
    """A seed of Rapt's would be drawn again in the backward, and be another mask."""
    torch.compiler.reset()
    q = torch.zeros(1, 1, 32, 16, requires_grad=True)
    with rapt.torch.enabled(), torch._functorch.config.patch(activation_memory_budget=0):
        out = torch.compile(lambda q: attend(q, q, q, dropout_p=0.5), backend="aot_eager", fullgraph=True)(q)
        assert "activation_memory_budget 0" in str(rapt.torch.report()) and not rapt.torch.report().taken
    assert out.shape == q.shape
    torch.compiler.reset()


def test_the_layout_is_that_of_torchs_math():
    query = torch.randn(2, 6, 3, 8).transpose(1, 2)
    expected = attend(query, query, query, dropout_p=0.1)
    with rapt.torch.enabled():
        out = attend(query, query, query, dropout_p=0.1)
    assert out.stride() == expected.stride()


def test_the_compile_cache_is_another_ones():
    before = torch.compiler.config.cache_key_tag
    with rapt.torch.enabled():
        assert torch.compiler.config.cache_key_tag != before
    assert torch.compiler.config.cache_key_tag == before


def test_vmap():
    inputs = [x.detach()[None].expand(3, *x.shape).clone() for x in qkv(head_dim_v=24)]
    expected = torch.vmap(attend)(*inputs)
    with rapt.torch.enabled():
        out = torch.vmap(attend)(*inputs)
        assert rapt.torch.report().taken
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)


def test_torch_func_grad():
    inputs = [x.detach() for x in qkv(head_dim_v=24)]

    def loss(*x):
        return attend(*x).square().sum()

    expected = torch.func.grad(loss, (0, 1, 2))(*inputs)
    with rapt.torch.enabled():
        results = torch.func.grad(loss, (0, 1, 2))(*inputs)
        assert rapt.torch.report().taken
    for x, y in zip(results, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-4)


def jvp(q, k, v):
    return torch.func.jvp(lambda x: attend(x, k, v), (q,), (torch.ones_like(q),))[1]


def masked_and_causal(q, k, v):
    with pytest.raises(RuntimeError, match="attn_mask should not be set when is_causal"):
        attend(q, k, v, torch.ones(50, 70), 0.5, True)


def own_choice(q, k, v):
    with sdpa_kernel(SDPBackend.MATH):
        return attend(q, k, v)


LEFT = {
    "own choice": (own_choice, torch.float32, "sdpa_kernel"),
    "jvp": (jvp, torch.float32, "forward-mode"),
    "float64": (attend, torch.float64, "float64"),
}
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15):  # later ones refuse it before they choose an operator
    LEFT["two masks"] = (masked_and_causal, torch.float32, "beside is_causal")


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_torch_is_reported(name):
    function, dtype, reason = LEFT[name]
    inputs = [x.detach() for x in qkv(dtype, head_dim_v=24)]
    expected = function(*inputs)
    with rapt.torch.enabled():
        out = function(*inputs)
        report = rapt.torch.report()
    assert not report.taken and reason in str(report) and all(x.startswith("math: ") for x in report.refused)
    if expected is not None:
        assert torch.equal(out, expected)


def test_nested_tensors():
    q, k, v = (torch.nested.nested_tensor([x[0, :, :n], x[1, :, :n]]) for x, n in zip(qkv(), (5, 7, 7), strict=True))
    expected = attend(q, k, v)
    with rapt.torch.enabled():
        out = attend(q, k, v)
    for x, y in zip(out.unbind(), expected.unbind(), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-5)
