"""rapt.attention and attention_backward against float64, from NumPy and from PyTorch."""

import numpy as np
import pytest
import rapt
import torch
from rapt._float64 import attention_float64
from reference import assert_within_rule

RNG = np.random.default_rng(1)
CASES = {
    "plain": {},
    "causal": {"causal": True},
    "top-left": {"causal": "top-left"},
    "window": {"window": (3, 1)},
    "window, causal": {"window": (4, -1), "causal": "bottom-right"},
    "softcap, scale": {"softcap": 5.0, "softmax_scale": 0.3},
    "bias": {"bias": RNG.standard_normal((1, 4, 9, 13)).astype(np.float32)},
    "mask": {"mask": RNG.random((2, 1, 9, 13)) < 0.6},
    "mask of bytes": {"mask": (RNG.random((2, 4, 1, 13)) < 0.6).astype(np.uint8)},
    "nothing to attend": {"mask": np.zeros((1, 1, 9, 13), bool)},
    "alibi": {"alibi_slopes": np.array([0.5, 0.25, 0.125, 0.0625], np.float32), "causal": True},
    "sink": {"sink": np.array([1.0, -1.0, 0.0, 2.0], np.float32)},
}


def inputs(dtype, batch=2, seqlen_q=9, seqlen_k=13, heads_q=4, heads_k=2, head_dim=16):
    """q, k, v and dout as torch tensors: NumPy has no bf16."""
    shapes = [(batch, seqlen_q, heads_q, head_dim)] + 2 * [(batch, seqlen_k, heads_k, head_dim)]
    rng = np.random.default_rng(2)
    return [torch.from_numpy(rng.standard_normal(shape)).to(dtype) for shape in (*shapes, shapes[0])]


def as_torch(options):
    return {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=["fp32", "bf16", "fp16"])
def test_forward_and_backward_of_torch_tensors(dtype, case):
    q, k, v, dout = inputs(dtype)
    options = as_torch(CASES[case])
    out, lse = rapt.attention(q, k, v, return_lse=True, **options)
    plain, plain_lse = rapt.attention(q, k, v, return_lse=True, backend="math", **options)
    rounded = None if dtype == torch.float32 else plain.double().numpy()
    exact, limit = attention_float64(*(x.double().numpy() for x in (q, k, v, dout)), **CASES[case], out=rounded)
    assert out.dtype == dtype and out.shape == q.shape and lse.dtype == torch.float32 and lse.shape == (2, 4, 9)
    assert_within_rule("out", out, exact["out"], plain, limit)
    assert_within_rule("lse", lse, exact["lse"], plain_lse, limit)

    given = (dout, q, k, v, plain, plain_lse)  # the same to both, as in `rapt verify`
    plain = rapt.attention_backward(*given, backend="math", **options)
    gradients = rapt.attention_backward(*given, **options)
    for name, result in gradients._asdict().items():
        given = {"dq": q, "dk": k, "dv": v, "dbias": options.get("bias"), "dsink": options.get("sink")}[name]
        assert (result is None) == (given is None)
        if given is None:
            continue
        assert result.shape == given.shape and result.dtype == given.dtype
        assert_within_rule(name, result, exact[name], getattr(plain, name), limit)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=["fp32", "fp16"])
def test_numpy_and_torch_give_the_same_bits(dtype, case):
    q, k, v, dout = (x.numpy().astype(dtype) for x in inputs(torch.float64))
    out, lse = rapt.attention(q, k, v, return_lse=True, **CASES[case])
    gradients = rapt.attention_backward(dout, q, k, v, out, lse, **CASES[case])
    assert all(isinstance(x, np.ndarray) for x in (out, lse, gradients.dq, gradients.dk, gradients.dv))

    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    options = as_torch(CASES[case])
    torch_out, torch_lse = rapt.attention(*tensors, return_lse=True, **options)
    torch_gradients = rapt.attention_backward(torch.from_numpy(dout), *tensors, torch_out, torch_lse, **options)
    assert (torch_out.numpy() == out).all() and (torch_lse.numpy() == lse).all()
    for ours, theirs in zip(gradients, torch_gradients, strict=True):
        assert ours is None and theirs is None or (ours == theirs.numpy()).all()
