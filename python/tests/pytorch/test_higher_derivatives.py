"""Second derivatives and forward mode, which composition.py composes of torch's operators."""

import pytest
import rapt.torch
import torch
from rapt.torch import composition
from test_operators import GRADCHECK, normal, small

CASES = GRADCHECK | {"ALiBi, window": ({}, {"alibi_slopes": torch.tensor([0.1, 0.4]), "window": (3, 2)})}
PACKED = {"cu_seqlens_q": (0, 3, 7), "cu_seqlens_k": (0, 2, 9)}  # of 8 and 9 rows: the last query is of no sequence


def leaves_and_function(case):
    tensors, options = CASES[case]
    leaves = small(**tensors)

    def function(*values):
        return rapt.torch.attention(**dict(zip(leaves, values, strict=True)), **options)

    return tuple(leaves.values()), function


@pytest.mark.parametrize("case", CASES)
def test_second_derivatives(case):
    leaves, function = leaves_and_function(case)
    assert torch.autograd.gradgradcheck(function, leaves)


@pytest.mark.parametrize("case", CASES)
def test_forward_mode(case):
    leaves, function = leaves_and_function(case)
    assert torch.autograd.gradcheck(function, leaves, check_forward_ad=True, check_backward_ad=False)
    more = {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False}
    assert torch.autograd.gradgradcheck(function, leaves, **more)


@pytest.mark.parametrize("heads_first", [False, True], ids=["", "heads first"])
@pytest.mark.parametrize("causal", [None, "top-left", "bottom-right"])
@pytest.mark.parametrize("packed", [False, True], ids=["", "packed"])
def test_the_composition_is_what_rapt_computes(heads_first, causal, packed):
    """With options that the derivatives above do not have together."""
    if packed and heads_first:
        pytest.skip("packed sequences have no such layout")
    q, k, v = (normal(*shape) for shape in ((2, 8, 4, 6), (2, 9, 2, 6), (2, 9, 2, 5)))
    options = {"softcap": 2.0, "window_left": 3, "window_right": 1, "sink": normal(4), "dropout": 0.3}
    options |= {"dropout_seed": torch.tensor(7), "dropout_offset": 2, "alibi_slopes": normal(4).float().abs()}
    if packed:
        q, k, v = q[0], k[0], v[0]
        options |= {name: torch.tensor(rows, dtype=torch.int32) for name, rows in PACKED.items()}
    else:
        options |= {"bias": normal(1, 4, 8, 9), "mask": normal(2, 1, 8, 9) > -1}
    if heads_first:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    args = composition.Options(heads_first=heads_first, causal=causal, **options)
    out, lse = torch.ops.rapt.attention(q, k, v, *args)
    found = composition.forward(q, k, v, *args)
    torch.testing.assert_close(found, (out, lse))
    dout, wrt = normal(*out.shape), [True, True, True, not packed, True]
    gradients = torch.ops.rapt.attention_backward(wrt, dout, out, lse, q, k, v, *args)
    torch.testing.assert_close(composition.backward(wrt, dout, q, k, v, *args), gradients)


def test_half_types_have_second_derivatives_too():
    q, k, v = (x.detach().bfloat16().requires_grad_() for x in small().values())
    (dq,) = torch.autograd.grad(rapt.torch.attention(q, k, v).sum(), q, create_graph=True)
    found = torch.autograd.grad(dq.square().sum(), (q, k, v))
    assert all(x.dtype == torch.bfloat16 and x.isfinite().all() for x in found)


TRANSFORMS = {
    "hessian": torch.func.hessian,
    "jacrev of jacrev": lambda f: torch.func.jacrev(torch.func.jacrev(f)),
    "jacfwd of jacfwd": lambda f: torch.func.jacfwd(torch.func.jacfwd(f)),
    "jacrev of jacfwd": lambda f: torch.func.jacrev(torch.func.jacfwd(f)),
    "third": lambda f: torch.func.grad(lambda q: torch.func.hessian(f)(q).square().sum()),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    q, k, v = (x.detach() for x in small().values())
    right = composition.Options(causal="bottom-right")
    found = TRANSFORMS[name](lambda q: rapt.torch.attention(q, k, v, causal=True).square().sum())(q)
    expected = TRANSFORMS[name](lambda q: composition.forward(q, k, v, *right)[0].square().sum())(q)
    torch.testing.assert_close(found, expected)


def test_packed_sequences_with_a_bias_are_refused():
    packed = {name: torch.tensor((0, 5, 7)[: 2 + (name[-1] == "k")], dtype=torch.int32) for name in PACKED}
    packed = {"cu_seqlens_q": torch.tensor([0, 5], dtype=torch.int32), "cu_seqlens_k": packed["cu_seqlens_k"][[0, 2]]}
    q, k, v = (x.detach()[0].requires_grad_() for x in small().values())
    bias = normal(1, 2, 5, 7)
    (dq,) = torch.autograd.grad(rapt.torch.attention(q, k, v, bias=bias, **packed).sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match="packed sequences with a bias"):
        dq.sum().backward()
