"""The names of flash_attn.layers.rotary and flash_attn.ops.triton.rotary."""

import pytest
import torch
from rapt.flash_attn.rotary import (
    RotaryEmbedding,
    apply_rotary,
    apply_rotary_emb,
    apply_rotary_emb_kv_,
    apply_rotary_emb_qkv_,
)
from rotation import rotary

OFFSETS = torch.tensor([4, 9])


def random(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_apply_rotary_emb():
    x, angles = random(2, 5, 3, 32), torch.rand(20, 8)
    for interleaved in (False, True):
        expected = rotary(x, angles, OFFSETS, interleaved)
        result = apply_rotary_emb(x, angles.cos(), angles.sin(), interleaved, seqlen_offsets=OFFSETS)
        torch.testing.assert_close(result, expected)
        lengths = {"cu_seqlens": torch.tensor([0, 5, 10]), "max_seqlen": 5}
        packed = apply_rotary_emb(
            x.flatten(0, 1), angles.cos(), angles.sin(), interleaved, seqlen_offsets=OFFSETS, **lengths
        )
        torch.testing.assert_close(packed.unflatten(0, (2, 5)), expected)
        written = x.clone()
        assert apply_rotary_emb(written, angles.cos(), angles.sin(), interleaved, True, OFFSETS) is written
        torch.testing.assert_close(written, expected)


def test_apply_rotary_turns_and_turns_back():
    x, angles = random(10, 3, 32), torch.rand(20, 16)
    tables = angles.cos(), angles.sin()
    turned = apply_rotary(x, *tables, 2, torch.tensor([0, 4, 10]), 6)
    torch.testing.assert_close(turned[:4], rotary(x[None, :4], angles, torch.tensor([2]), False)[0])
    torch.testing.assert_close(turned[4:], rotary(x[None, 4:], angles, torch.tensor([2]), False)[0])
    again = turned.clone()
    assert apply_rotary(again, *tables, 2, torch.tensor([0, 4, 10]), 6, inplace=True, conjugate=True) is again
    torch.testing.assert_close(again, x)


@pytest.mark.parametrize("grouped", [False, True])
def test_packed_tensors_are_turned_in_place(grouped):
    angles = torch.rand(20, 8)
    tables = angles.cos(), angles.sin()
    q, k, v = random(2, 5, 4, 16), random(2, 5, 2 if grouped else 4, 16), random(2, 5, 2 if grouped else 4, 16)
    qkv = torch.cat((q, k, v), 2) if grouped else torch.stack((q, k, v), 2)
    turned = [rotary(q, angles, OFFSETS, False), rotary(k, angles, OFFSETS, False), v]
    how = {"seqlen_offsets": OFFSETS, "num_heads_q": 4 if grouped else None}
    assert apply_rotary_emb_qkv_(qkv, *tables, **how) is qkv
    torch.testing.assert_close(qkv, torch.cat(turned, 2) if grouped else torch.stack(turned, 2))
    kv = torch.stack((k, v), 2)
    assert apply_rotary_emb_kv_(kv, *tables, seqlen_offsets=OFFSETS) is kv
    torch.testing.assert_close(kv, torch.stack(turned[1:], 2))
    with pytest.raises(ValueError, match="num_heads_q is None"):
        apply_rotary_emb_qkv_(torch.cat((q, k, v), 2), *tables)


def test_tables_that_do_not_fit():
    x, cos = torch.randn(2, 5, 3, 16), torch.randn(8, 8)
    apply_rotary_emb(x, cos, cos, seqlen_offsets=3)
    for offset in (-1, 4):  # a negative position would be one from the end
        with pytest.raises(ValueError, match=f"seqlen_offsets is {offset}, x has 5 tokens; cos has 8 positions"):
            apply_rotary_emb(x, cos, cos, seqlen_offsets=offset)
    with pytest.raises(ValueError, match=r"sin has the shape \(8, 4\)"):
        apply_rotary_emb(x, cos, cos[:, :4])


def test_the_module():
    module = RotaryEmbedding(16, base=100.0)
    angles = torch.outer(torch.arange(20.0), 100.0 ** (-torch.arange(8) / 8))
    qkv = random(2, 5, 3, 4, 16)
    expected = torch.stack([*(rotary(x, angles, OFFSETS, False) for x in qkv.unbind(2)[:2]), qkv[:, :, 2]], 2)
    torch.testing.assert_close(module(qkv.clone(), seqlen_offset=OFFSETS, max_seqlen=20), expected)
    q, kv = module(qkv[:, :, 0].clone(), qkv[:, :, 1:].clone(), OFFSETS, 20)
    torch.testing.assert_close(torch.cat((q[:, :, None], kv), 2), expected)
    module = module.to(torch.bfloat16)  # its tables are computed in fp32 all the same
    module(qkv.to(torch.bfloat16), seqlen_offset=15)
    assert torch.equal(module._cos_cached, angles.cos().to(torch.bfloat16)) and len(module._sin_cached) == 20
    with pytest.raises(NotImplementedError, match="scale_base is 512"):
        RotaryEmbedding(16, scale_base=512)


def test_gradients_flow_through_a_packed_tensor():
    x = random(2, 5, 3, 4, 16).requires_grad_()
    weights = random(2, 5, 3, 4, 16)
    (RotaryEmbedding(16)(x * 1) * weights).sum().backward()
    angles = torch.outer(torch.arange(5.0), 10000.0 ** (-torch.arange(8) / 8))
    back = [rotary(w, -angles, torch.zeros(2), False) for w in weights.unbind(2)[:2]]  # the transposed rotation
    torch.testing.assert_close(x.grad, torch.stack([*back, weights[:, :, 2]], 2))
