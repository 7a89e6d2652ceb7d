"""Public reports about special values, sizes and dropout of other libraries (docs/public-reports.md)."""

import pytest
import rapt
import torch
from exact import assert_close, attention, randn, with_gradients
from placed import DEVICES, fetch, place, run

on_each_device = pytest.mark.parametrize("device", DEVICES)


def forward(device, qkv, **options):
    out = place(torch.full((*qkv[0].shape[:3], qkv[2].shape[3]), torch.nan, dtype=qkv[0].dtype), device)
    rapt.attention(*(place(x, device) for x in qkv), out=out, **{n: place(x, device) for n, x in options.items()})
    return fetch(out)


@on_each_device
def test_nan_in_a_query_is_not_hidden(device):
    """pytorch#141128: the result of a NaN query was 0."""
    q, k, v = (randn(2, 16, 4, 8) for _ in range(3))
    q[0, 5] = torch.nan
    out = forward(device, (q, k, v))
    assert out[0, 5].isnan().all()
    out[0, 5] = q[0, 5] = 0
    expected = attention(q.double(), k.double(), v.double())
    expected[0, 5] = 0
    assert_close("out", out, expected)


@on_each_device
@pytest.mark.parametrize("how", ["mask", "causal"])
def test_nan_in_keys_that_are_masked_out(device, how):
    """pytorch#101967: NaN in a key that no query attends to made the result NaN."""
    q, k, v = (randn(1, n, 1, 16) for n in (5, 8, 8))
    seen = torch.arange(8) < 5
    options = {"mask": {"mask": seen[None, None, None]}, "causal": {"causal": "top-left"}}[how]
    clean, _ = run(device, (q, k, v), options, randn(1, 5, 1, 16))
    for x in (k, v):
        x[:, 5:] = torch.nan
    dout = randn(1, 5, 1, 16)
    out, gradients = run(device, (q, k, v), options, dout)
    assert torch.equal(out, clean)
    assert all(x.isfinite().all() for x in gradients.values())
    assert not gradients["dk"][:, 5:].any() and not gradients["dv"][:, 5:].any()


@on_each_device
@pytest.mark.parametrize("shape", [(65537, 1, 1, 16), (1, 1, 65537, 16)])
def test_more_batches_or_heads_than_65535(device, shape):
    """pytorch#142228, flash-attention#1786: a GPU's grid has at most 65,535 blocks in two of its dimensions."""
    q, k, v = (randn(*shape) for _ in range(3))
    k, v = (torch.cat((x, x.flip(3)), 1) for x in (k, v))
    assert_close("out", forward(device, (q, k, v)), attention(q.double(), k.double(), v.double()))


@on_each_device
def test_only_the_bias_has_a_gradient(device):
    """pytorch#148476: a mask that alone requires grad had its gradient computed from an empty lse."""
    q, k, v, dout = (randn(2, 20, 2, 32) for _ in range(4))
    bias = randn(1, 2, 20, 20)
    inputs = [place(x, device) for x in (q, k, v)]
    out, lse, dbias = (place(torch.full(s, torch.nan), device) for s in (q.shape, (2, 2, 20), bias.shape))
    placed = place(bias, device)
    rapt._core.forward(*inputs, out, lse, bias=placed)
    rapt.attention_backward(place(dout, device), *inputs, out, lse, wrt=("bias",), dbias=dbias, bias=placed)
    _, (*_, expected) = with_gradients(dout, q, k, v, bias)
    assert_close("dbias", fetch(dbias), expected, factor=4)


@on_each_device
def test_dout_in_the_layout_of_out_and_in_another(device):
    """pytorch#133671: a gradient with other strides than the result was read as if it had the result's."""
    q, k, v, dout = (randn(2, 49, 2, 32) for _ in range(4))
    other = dout.transpose(1, 2).contiguous().transpose(1, 2)
    assert dout.stride() != other.stride()
    _, exact = with_gradients(dout, q, k, v)
    for given in (dout, other):
        _, gradients = run(device, (q, k, v), {}, given)
        for (name, gradient), expected in zip(gradients.items(), exact, strict=True):
            assert_close(name, gradient, expected, factor=4)


@on_each_device
def test_both_passes_drop_the_same_elements(device):
    """flash-attention#1251: forward and backward with dropout had masks that differed."""
    q, k, v, dout = (randn(1, n, 2, 32) for n in (24, 32, 32, 24))
    options = {"dropout": 0.3, "dropout_seed": 11, "dropout_offset": 5}
    weights = forward(device, (0 * q, 0 * k, torch.eye(32)[None, :, None].expand(1, -1, 2, -1)), **options)
    kept = (weights.transpose(1, 2) > 0) / 0.7
    assert 0.2 < (kept == 0).double().mean() < 0.4
    out, gradients = run(device, (q, k, v), options, dout)
    exact, exact_gradients = with_gradients(dout, q, k, v, kept=kept.double())
    assert_close("out", out, exact)
    for (name, gradient), expected in zip(gradients.items(), exact_gradients, strict=True):
        assert_close(name, gradient, expected, factor=4)
