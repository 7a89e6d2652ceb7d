"""Packed tensors with rows behind the last sequence: their results are 0, not what the memory held."""

import os

import numpy
import pytest
import rapt

CU_SEQLENS, TOTAL = (0, 3, 38), 40
USED = CU_SEQLENS[-1]


def tensors():
    rng = numpy.random.default_rng(1)
    q, k, v, dout = (rng.standard_normal((TOTAL, 2, 16)).astype(numpy.float32) for _ in range(4))
    for x in (q, k, v, dout):
        x[USED:] = numpy.nan
    cu_seqlens = numpy.array(CU_SEQLENS, numpy.int32)
    return (q, k, v), dout, {"cu_seqlens_q": cu_seqlens, "cu_seqlens_k": cu_seqlens}


@pytest.mark.parametrize("backend", [None, "math"])
def test_numpy(backend):
    qkv, dout, options = tensors()
    options["backend"] = backend
    out = numpy.full_like(qkv[0], numpy.nan)
    _, lse = rapt.attention(*qkv, out=out, return_lse=True, **options)
    given = {name: numpy.full_like(out, numpy.nan) for name in ("dq", "dk", "dv")}
    gradients = rapt.attention_backward(dout, *qkv, out, lse, **given, **options)
    assert not lse[:, USED:].any()
    for x in (out, gradients.dq, gradients.dk, gradients.dv):
        assert numpy.isfinite(x).all() and x[:USED].all() and not x[USED:].any()
    cut = [x[:USED] for x in qkv]
    expected, expected_lse = rapt.attention(*cut, return_lse=True, **options)
    assert (expected == out[:USED]).all() and (expected_lse == lse[:, :USED]).all()


def test_strides():
    (q, k, v), _, options = tensors()
    out = numpy.full((TOTAL, 3, 48), numpy.nan, numpy.float32)
    rapt.attention(q, k, v, out=out[::-1, :2, 8:24], **options)
    assert not out[:2, :2, 8:24].any() and numpy.isnan(out[:, 2]).all() and numpy.isnan(out[:, :, 24:]).all()
    assert numpy.isnan(out[:, :, :8]).all() and numpy.isfinite(out[2:, :2, 8:24]).all()


@pytest.mark.parametrize("none", ["q", "k"])
def test_no_rows_in_any_sequence(none):
    (q, k, v), _, options = tensors()
    options[f"cu_seqlens_{none}"] = numpy.zeros(3, numpy.int32)
    assert not rapt.attention(q, k, v, **options).any()


def test_torch(device):
    torch = pytest.importorskip("torch")
    import rapt.torch

    qkv, dout, options = tensors()
    q, k, v, dout = (torch.from_numpy(x).to(device).half() for x in (*qkv, dout))
    options = {name: torch.from_numpy(x).to(device) for name, x in options.items()}
    lengths = {"max_seqlen_q": 35, "max_seqlen_k": 35}
    leaves = [x.requires_grad_() for x in (q, k, v)]
    for _ in range(3):  # memory that was used before
        torch.full((2 << 20,), torch.nan, device=device)
        out, lse = rapt.torch.attention(*leaves, return_lse=True, causal=True, **options, **lengths)
        gradients = torch.autograd.grad(out, leaves, dout)
        assert not lse[:, USED:].any()
        for x in (out, *gradients):
            assert x.isfinite().all() and not x[USED:].any()


def test_flash_attn(device):
    torch = pytest.importorskip("torch")
    from rapt.flash_attn import flash_attn_interface

    qkv, dout, options = tensors()
    q, k, v, dout = (torch.from_numpy(x).to(device).half() for x in (*qkv, dout))
    lengths = [torch.from_numpy(x).to(device) for x in options.values()] + [35, 35]
    leaves = [x.requires_grad_() for x in (q, k, v)]
    out = flash_attn_interface.flash_attn_varlen_func(*leaves, *lengths, causal=True)
    for x in (out, *torch.autograd.grad(out, leaves, dout)):
        assert x.isfinite().all() and not x[USED:].any()
    out, lse, _, _ = flash_attn_interface._flash_attn_varlen_forward(q, k, v, *lengths, 0.0, 0.25, True)
    assert not out[USED:].any() and not lse[:, USED:].any()
    gradients = [torch.full_like(x, torch.nan) for x in (q, k, v)]
    flash_attn_interface._flash_attn_varlen_backward(dout, q, k, v, out, lse, *gradients, *lengths, 0.0, 0.25, True)
    for x in gradients:
        assert x.isfinite().all() and not x[USED:].any()


@pytest.mark.parametrize("of_lengths", ["cpu", "hip"])
@pytest.mark.parametrize("columns", [64, 80])  # 80: rows with a gap between heads
def test_memory_of_a_gpu(of_lengths, columns):
    pytest.importorskip("torch")
    import torch
    from placed import fetch, place

    if "RAPT_HIP_LIBRARY" not in os.environ:
        pytest.skip("no HIP library")
    q, k, v, dout = (torch.randn(TOTAL, heads, 64, dtype=torch.float16) for heads in (4, 2, 2, 4))
    for x in (q, k, v, dout):
        x[USED:] = torch.nan
    lengths = place(torch.tensor(CU_SEQLENS, dtype=torch.int32), of_lengths)
    options = {"cu_seqlens_q": lengths, "cu_seqlens_k": lengths, "max_seqlen_q": 35, "max_seqlen_k": 35}

    def result(heads):
        return place(torch.full((TOTAL, heads, columns), torch.nan, dtype=torch.float16)[..., :64], "hip")

    out, gradients = result(4), {"dq": result(4), "dk": result(2), "dv": result(2)}
    lse = place(torch.full((4, TOTAL), torch.nan), "hip")
    placed = [place(x, "hip") for x in (q, k, v)]
    rapt._core.forward(*placed, out, lse, causal=True, **options)
    rapt.attention_backward(place(dout, "hip"), *placed, out, lse, causal=True, **gradients, **options)
    assert not fetch(lse)[:, USED:].any()
    for x in map(fetch, (out, *gradients.values())):
        assert x.isfinite().all() and x[:USED].any() and not x[USED:].any()
        gaps = x.as_strided((TOTAL * x.shape[1] - 1, columns), (columns, 1))[:, 64:]
        assert gaps.isnan().all()
