"""FlashAttention's passes without autograd, by their private names."""

import inspect

import pytest
import torch
from rapt.flash_attn import flash_attn_func, flash_attn_interface, flash_attn_varlen_func

MASK = {"softmax_scale": 0.3, "causal": True, "softcap": 5.0}
LEFT, RIGHT = 20, -1


def qkv(total=None):
    generator = torch.Generator().manual_seed(1)
    sizes = ((2, 30), (2, 40), (2, 40)) if total is None else ((total,), (total,), (total,))
    return [
        torch.randn(*size, heads, 16, generator=generator) for size, heads in zip(sizes, (4, 2, 2), strict=True)
    ]  # fmt: skip


def close(results, expected):
    for x, y in zip(results, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("prefix", ["_flash_attn", "_wrapped_flash_attn"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_passes_are_those_of_the_function(prefix, packed):
    kind = "_varlen" if packed else ""
    forward, backward = (getattr(flash_attn_interface, f"{prefix}{kind}_{x}") for x in ("forward", "backward"))
    inputs = qkv(25 if packed else None)
    lengths = (torch.tensor([0, 10, 10, 25], dtype=torch.int32),) * 2 + (15, 15) if packed else ()
    leaves = [x.clone().requires_grad_() for x in inputs]
    function = flash_attn_varlen_func if packed else flash_attn_func
    expected, lse, _ = function(*leaves, *lengths, window_size=(LEFT, RIGHT), return_attn_probs=True, **MASK)
    dout = torch.randn(expected.shape)

    window = {"window_size_left": LEFT, "window_size_right": RIGHT}
    out, softmax_lse, s_dmask, rng_state = forward(*inputs, *lengths, dropout_p=0.0, **MASK, **window)
    assert s_dmask is None and rng_state is None
    close([out, softmax_lse], [expected.detach(), lse])
    gradients = [torch.empty_like(x) for x in inputs]
    backward(dout, *inputs, out, softmax_lse, *gradients, *lengths, dropout_p=0.0, **MASK, **window)
    close(gradients, torch.autograd.grad(expected, leaves, dout))


def test_dropout_has_one_mask_in_both_passes():
    q, k, _ = qkv()
    v = torch.eye(40).reshape(1, 40, 1, 40).expand(2, 40, 2, 40).contiguous()
    out, lse, _, rng_state = flash_attn_interface._flash_attn_forward(q, k, v, 0.5, 0.3, False)
    dv = torch.empty_like(v)
    passed = (torch.ones_like(out), q, k, v, out, lse, None, None, dv, 0.5, 0.3, False)
    flash_attn_interface._flash_attn_backward(*passed, rng_state=rng_state)
    of_groups = out.sum(1).reshape(2, 2, 2, 40).sum(2)  # two heads of q for each of k
    close([dv[..., 0]], [of_groups.transpose(1, 2)])
    with pytest.raises(RuntimeError, match="rng_state is None"):
        flash_attn_interface._flash_attn_backward(*passed)
    with pytest.raises(ValueError, match=r"rng_state is of the shape \(1,\)"):
        flash_attn_interface._flash_attn_backward(*passed, rng_state=rng_state[:1])
    with pytest.raises(ValueError, match="softmax_lse is of type NoneType"):
        flash_attn_interface._flash_attn_backward(*passed[:5], None, *passed[6:], rng_state=rng_state)


def test_rows_with_nothing_to_attend():
    """ring-flash-attention merges blocks of which some rows have no keys."""
    q, k, v = (x[:, :20] for x in qkv())
    out, lse, _, _ = flash_attn_interface._flash_attn_forward(q, k[:, :5], v[:, :5], 0.0, 0.3, True)
    assert (out[:, :15] == 0).all() and (lse[..., :15] == torch.inf).all() and lse[..., 15:].isfinite().all()
    gradients = [torch.full_like(x, torch.nan) for x in (q, k[:, :5], v[:, :5])]
    flash_attn_interface._flash_attn_backward(out, q, k[:, :5], v[:, :5], out, lse, *gradients, 0.0, 0.3, True)
    assert all(x.isfinite().all() for x in gradients) and (gradients[0][:, :15] == 0).all()


def test_what_is_refused():
    q, k, v = qkv()
    with pytest.raises(NotImplementedError, match="return_softmax"):
        flash_attn_interface._flash_attn_forward(q, k, v, 0.0, None, False, return_softmax=True)
    lengths = torch.tensor([0, 25], dtype=torch.int32)
    with pytest.raises(NotImplementedError, match="seqused_k"):
        flash_attn_interface._flash_attn_varlen_forward(
            *qkv(25), lengths, lengths, 25, 25, 0.0, None, False, seqused_k=lengths
        )


def test_arguments_have_the_names_that_others_look_for():
    # ring-flash-attention asks by inspect whether the window is one argument or two
    for name in ("_flash_attn_forward", "_flash_attn_varlen_forward"):
        names = list(inspect.signature(getattr(flash_attn_interface, name)).parameters)
        assert {"window_size_left", "window_size_right", "softcap", "return_softmax"} < set(names)
        assert names[:3] == ["q", "k", "v"]


def test_rows_that_no_sequence_has():
    lengths = torch.tensor([0, 5, 10], dtype=torch.int32)
    inputs = [x * 0 + 1 for x in qkv(64)]
    torch.full((10_000,), torch.nan)  # what new memory may hold
    out, lse, _, _ = flash_attn_interface._flash_attn_varlen_forward(
        *inputs, lengths, lengths, 5, 5, 0.0, None, False, zero_tensors=True
    )
    gradients = [torch.full_like(x, torch.nan) for x in inputs]
    flash_attn_interface._flash_attn_varlen_backward(
        torch.ones_like(out), *inputs, out, lse, *gradients, lengths, lengths, 5, 5, 0.0, None, False, zero_tensors=True
    )
    assert all((x[10:] == 0).all() and x[:10].isfinite().all() for x in (out, *gradients))


def test_no_rows():
    empty = torch.randn(2, 0, 2, 8, requires_grad=True)
    flash_attn_func(empty, empty, empty).sum().backward()
    assert empty.grad.shape == empty.shape
