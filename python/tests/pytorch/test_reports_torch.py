"""Public reports about PyTorch's own attention, each as its smallest input (docs/public-reports.md)."""

import pytest
import rapt.torch
import torch
from exact import assert_close, attention, places, randn
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def enabled():
    with rapt.torch.enabled(always=True):
        yield


def heads_first(*tensors, **options):
    return attention(*(x.double().transpose(1, 2) for x in tensors), **options).transpose(1, 2)


@pytest.mark.parametrize("make", [torch.ones, lambda *size: torch.empty(0).new_ones(*size)], ids=["ones", "new_ones"])
@pytest.mark.parametrize("call", [F.scaled_dot_product_attention, rapt.torch.sdpa], ids=["F", "rapt"])
def test_a_mask_made_within_vmap(make, call):
    """pytorch#161310: a mask that the mapped function makes has no dimension of the samples."""
    q, k, v = (randn(3, 2, 4, 9, 16) for _ in range(3))
    out = torch.vmap(lambda q, k, v: call(q, k, v, make(9, 9).bool().tril()))(q, k, v)
    for sample in zip(out, q, k, v, strict=True):
        assert_close("out", sample[0], heads_first(*sample[1:], allowed=places(9, 9) <= 0))


def test_padding_and_a_window_leave_a_row_nothing():
    """pytorch#41508: one row with nothing to attend made the gradients of all weights NaN."""
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    x = randn(2, 4, 8)
    padding = torch.tensor([[False] * 4, [False, False, True, True]])
    window = (places(4, 4) > 0) | (places(4, 4) < -1)
    out, _ = layer(x, x, x, key_padding_mask=padding, attn_mask=window, need_weights=False)
    seen = ~(window | padding[:, None])
    assert not seen[1, 3].any()
    (out * seen.any(-1, keepdim=True)).sum().backward()
    found = {name: p.grad.clone() for name, p in layer.named_parameters()}

    exact = layer.double()
    for p in exact.parameters():
        p.grad = None
    q, k, v = F.linear(x.double(), exact.in_proj_weight, exact.in_proj_bias).unflatten(-1, (3, 2, 4)).unbind(2)
    expected = exact.out_proj(attention(q, k, v, allowed=seen[:, None]).flatten(2))
    assert_close("out", out.detach(), expected)
    (expected * seen.any(-1, keepdim=True)).sum().backward()
    for name, p in exact.named_parameters():
        assert_close(name, found[name], p.grad, scale=expected.abs().max().item(), factor=4)


@pytest.mark.parametrize("places_of_grad", [(0,), (1,), (2,), (3,), (0, 3), (1, 2)], ids=str)
def test_each_choice_of_inputs_with_a_gradient(places_of_grad):
    """pytorch#148476: a gradient for the mask alone was computed from an lse that nobody had written."""
    tensors = [*(randn(2, 2, 20, 16) for _ in range(3)), randn(2, 20, 20)]
    leaves = [x.clone().requires_grad_(i in places_of_grad) for i, x in enumerate(tensors)]
    out = F.scaled_dot_product_attention(*leaves)
    dout = randn(2, 2, 20, 16)
    found = torch.autograd.grad(out, [leaves[i] for i in places_of_grad], dout)
    exact = [x.double().requires_grad_(i in places_of_grad) for i, x in enumerate(tensors)]
    expected = heads_first(*exact[:3], added=exact[3])
    for i, gradient in zip(places_of_grad, found, strict=True):
        (wanted,) = torch.autograd.grad(expected, [exact[i]], dout.double(), retain_graph=True)
        assert_close(str(i), gradient, wanted, factor=4)


def test_a_float32_mask_under_autocast():
    """pytorch#99012: autocast on a CPU made a float32 mask an error."""
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(32, 4)
    x, mask = randn(10, 1, 32), torch.where(places(10, 10) <= 0, 0.0, -torch.inf)
    with torch.no_grad():
        expected, _ = layer(x, x, x, attn_mask=mask, need_weights=False)
        with torch.autocast("cpu"):
            out, _ = layer(x, x, x, attn_mask=mask, need_weights=False)
    assert_close("out", out, expected.double(), torch.bfloat16, factor=2)


@pytest.mark.parametrize("rows", [196, 257])
def test_strides_of_compiled_graphs_are_those_of_memory(rows):
    """ComfyUI#15044, MagiAttention#137: the strides that a graph expected were not those that the kernel wrote."""
    q, k, v, dout = (randn(1, rows, 4, 16).requires_grad_() for _ in range(4))

    def call(q, k, v):
        out = rapt.torch.sdpa(*(x.transpose(1, 2) for x in (q, k, v)))
        return out.transpose(1, 2).view(1, rows, 64) * 2

    def both(function):
        out = function(q, k, v)
        return out, *torch.autograd.grad(out, (q, k, v), dout.flatten(2))

    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    for found, expected in zip(both(compiled), both(call), strict=True):
        assert torch.equal(found, expected)


def test_a_mask_of_another_type():
    """ComfyUI#8118: a bf16 mask beside an fp16 query; torch refuses it, and Rapt names it."""
    q, mask = randn(1, 2, 6, 8, dtype=torch.float16), randn(6, 6, dtype=torch.bfloat16)
    with pytest.raises(RuntimeError, match="attn_mask"):
        F.scaled_dot_product_attention(q, q, q, mask)
    with pytest.raises((TypeError, ValueError), match="mask"):
        rapt.torch.sdpa(q, q, q, mask)
