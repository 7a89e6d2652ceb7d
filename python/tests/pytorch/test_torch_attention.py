"""rapt.torch.attention: results and gradients by the rule of docs/architecture.md."""

import numpy as np
import pytest
import rapt.torch
import torch
from reference import assert_within_rule, forward

B, HQ, HK, SQ, SK, D = 2, 4, 2, 37, 45, 16


def normal(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def inputs(dtype, outliers=False):
    """q, k, v and dout."""
    tensors = [normal(B, SQ, HQ, D), normal(B, SK, HK, D), normal(B, SK, HK, D) + 0.1, normal(B, SQ, HQ, D) - 0.1]
    if outliers:
        for tensor in tensors[:2]:
            tensor.view(-1)[::100] *= 30
    return [tensor.to(dtype) for tensor in tensors]


CASES = {
    "plain": {},
    "causal": {"causal": True},
    "top-left": {"causal": "top-left"},
    "window": {"window": (9, 3)},
    "softcap, scale": {"softcap": 5.0, "softmax_scale": 0.3},
    "bias": {"bias": normal(1, HQ, SQ, SK).float()},
    "bias of keys": {"bias": normal(B, 1, 1, SK).float()},
    "mask": {"mask": normal(B, 1, SQ, SK) > 0},
    "mask, empty rows": {"mask": (normal(B, 1, SQ, SK) > 0) & (torch.arange(SQ)[:, None] % 5 != 2)},
    "alibi": {"alibi_slopes": torch.tensor([0.5, 0.25, 0.125, 0.0625]), "causal": True},
    "sink": {"sink": torch.tensor([1.0, -1.0, 0.0, 2.0])},
    "dropout": {"dropout": 0.3, "dropout_seed": 7},
}


def run(q, k, v, dout, options, backend=None):
    """out, lse and the gradients, by name."""
    leaves = {"q": q, "k": k, "v": v} | {name: options[name] for name in ("bias", "sink") if name in options}
    leaves = {name: tensor.detach().requires_grad_() for name, tensor in leaves.items()}
    out, lse = rapt.torch.attention(**options | leaves, return_lse=True, backend=backend)
    assert not lse.requires_grad
    gradients = torch.autograd.grad(out, leaves.values(), dout)
    for tensor, gradient in zip(leaves.values(), gradients, strict=True):
        assert gradient.shape == tensor.shape and gradient.dtype == tensor.dtype
    return {"out": out.detach(), "lse": lse} | {"d" + name: x for name, x in zip(leaves, gradients, strict=True)}


def backward(results, q, k, v, dout, options, backend=None):
    """The gradients by the operator itself, from results of the forward."""
    given = {name: value for name, value in options.items() if name not in ("causal", "window", "dropout_seed")}
    if "causal" in options:
        given["causal"] = options["causal"] if options["causal"] == "top-left" else "bottom-right"
    given["window_left"], given["window_right"] = options.get("window", (-1, -1))
    given["dropout_seed"] = torch.tensor(options.get("dropout_seed", 0))
    wrt = [True, True, True, "bias" in options, "sink" in options]
    names = [name for name, wanted in zip(("dq", "dk", "dv", "dbias", "dsink"), wrt, strict=True) if wanted]
    gradients = torch.ops.rapt.attention_backward(
        wrt, dout, results["out"], results["lse"], q, k, v, **given, backend=backend
    )
    return dict(zip(names, gradients, strict=True))


@pytest.mark.parametrize("outliers", [False, True], ids=["normal", "outliers"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=["fp32", "bf16", "fp16"])
def test_results_and_gradients_meet_the_rule(dtype, case, outliers):
    options = CASES[case]
    tensors = inputs(dtype, outliers)
    results, plain = run(*tensors, options), run(*tensors, options, "math")
    wide = {name: x.double() if name in ("bias", "sink") else x for name, x in options.items()}
    exact = run(*(x.double() for x in tensors), wide)

    numpy = {name: x.numpy() if isinstance(x, torch.Tensor) else x for name, x in options.items()}
    dropped = numpy.pop("dropout", 0), numpy.pop("dropout_seed", None)
    out, lse, limit = forward(*(x.double().numpy() for x in tensors[:3]), **numpy)
    if not dropped[0]:
        assert np.abs(exact["out"].numpy() - out).max() < 1e-12 * np.abs(out).max()
        assert np.allclose(exact["lse"].numpy(), lse, rtol=1e-12, atol=1e-12)
    for name in ("out", "lse"):
        assert_within_rule(name, results[name], exact[name], plain[name], limit)

    for name, gradient in backward(results, *tensors, options).items():
        assert (gradient == results[name]).all()
    # All use the same out if it is rounded to 16 bits, as docs/architecture.md says.
    own, own_plain = backward(plain, *tensors, options), backward(plain, *tensors, options, "math")
    given = exact if dtype == torch.float32 else exact | {"out": plain["out"].double()}
    own_exact = backward(given, *(x.double() for x in tensors), wide, "math")
    rounded = None if dtype == torch.float32 else given["out"].numpy()
    *_, limit = forward(*(x.double().numpy() for x in tensors), out=rounded, **numpy)
    for name, gradient in own_plain.items():
        assert_within_rule(name, own[name], own_exact[name], gradient, limit)


def test_packed_sequences_are_the_sequences_one_by_one():
    q, k, v, dout = (x[0] for x in inputs(torch.float32))
    lengths_q, lengths_k = [0, 5, 5, 37], [0, 20, 21, 45]
    options = {"causal": True, "cu_seqlens_q": torch.tensor(lengths_q), "cu_seqlens_k": torch.tensor(lengths_k)}
    options |= {name: lengths.int() for name, lengths in options.items() if name != "causal"}
    packed = run(q, k, v, dout, options)
    for b in range(3):
        mine, keys = slice(*lengths_q[b : b + 2]), slice(*lengths_k[b : b + 2])
        one = run(*(x[rows][None] for x, rows in ((q, mine), (k, keys), (v, keys), (dout, mine))), {"causal": True})
        for name, rows in (("out", mine), ("dq", mine), ("dk", keys), ("dv", keys)):
            torch.testing.assert_close(packed[name][rows], one[name][0], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(packed["lse"][:, mine], one["lse"][0])
