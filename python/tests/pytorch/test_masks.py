"""Masks that are not plain tensors: handled, or a TypeError."""

import pytest
import rapt
import rapt.torch
import torch
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.nn.functional import scaled_dot_product_attention


def qkv(rows=6, columns=9):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(1, 2, n, 8, generator=generator).requires_grad_() for n in (rows, columns, columns)]


class Numbers(torch.Tensor):
    """Its numbers are in its memory."""


class Others(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs)


@pytest.mark.parametrize("make", [causal_upper_left, causal_lower_right])
@pytest.mark.parametrize("sizes", [(6, 9), (6, 6), (1, 9)])
def test_causal_bias(make, sizes):
    tensors = qkv(*sizes)
    expected, out = scaled_dot_product_attention(*tensors, make(*sizes)), rapt.torch.sdpa(*tensors, make(*sizes))
    torch.testing.assert_close(out, expected)
    for x, y in zip(*(torch.autograd.grad(o.square().sum(), tensors) for o in (out, expected)), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-5)
    with rapt.torch.enabled():
        torch.testing.assert_close(scaled_dot_product_attention(*tensors, make(*sizes)), expected)


def test_wrong_causal_bias():
    tensors = qkv()
    with pytest.raises(ValueError, match=r"CausalBias of \(6, 6\); query and key have \(6, 9\) rows"):
        rapt.torch.sdpa(*tensors, causal_upper_left(6, 6))
    with pytest.raises(ValueError, match="a CausalBias and is_causal is True"):
        rapt.torch.sdpa(*tensors, causal_upper_left(6, 9), is_causal=True)


def test_a_subclass_with_numbers_is_a_mask():
    tensors, mask = qkv(), torch.randn(6, 9)
    for one in (mask.as_subclass(Numbers), torch.nn.Parameter(mask)):
        torch.testing.assert_close(rapt.torch.sdpa(*tensors, one), rapt.torch.sdpa(*tensors, mask))


@pytest.mark.parametrize("mask", [[[True]], 1.0, torch.ones(6, 9).numpy(), torch.ones(6, 9).as_subclass(Others)])
def test_anything_else_is_a_type_error(mask):
    tensors = qkv()
    with pytest.raises(TypeError, match=f"attn_mask is a {type(mask).__name__}"):
        rapt.torch.sdpa(*tensors, mask)
    q, k, v = (x.transpose(1, 2) for x in tensors)
    for name in ("mask", "bias"):
        with pytest.raises(TypeError, match=f"{name} is a {type(mask).__name__}"):
            rapt.torch.attention(q, k, v, **{name: mask})


def test_a_causal_bias_is_no_bias_of_the_other_functions():
    q, k, v = (x.detach().transpose(1, 2) for x in qkv())
    for function in (rapt.torch.attention, rapt.attention):
        for name in ("mask", "bias"):
            with pytest.raises(TypeError, match=f"{name} is a CausalBias"):
                function(q, k, v, **{name: causal_upper_left(6, 9)})


def test_a_causal_bias_in_a_graph():
    tensors, bias = qkv(), causal_lower_right(6, 9)
    compiled = torch.compile(lambda q, k, v: rapt.torch.sdpa(q, k, v, bias), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(*tensors), rapt.torch.sdpa(*tensors, bias))
