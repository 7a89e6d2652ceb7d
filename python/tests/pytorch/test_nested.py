"""Jagged nested tensors: packed sequences, with gradients, in compiled graphs and under enable()."""

import pytest
import rapt.torch
import torch
from torch.nn.functional import scaled_dot_product_attention

LENGTHS_Q, LENGTHS_K = (3, 5, 1), (4, 0, 7)


@pytest.fixture(autouse=True)
def fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def nested(rows, lengths):
    """[batch, heads, seqlens, head_dim] of rows [total, heads, head_dim]."""
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    return torch.nested.nested_tensor_from_jagged(rows, offsets).transpose(1, 2)


def rows(lengths_k=LENGTHS_K):
    generator = torch.Generator().manual_seed(1)
    shapes = ((sum(LENGTHS_Q), 4, 8), (sum(lengths_k), 2, 8), (sum(lengths_k), 2, 6))
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


def run(function, leaves, lengths_k=LENGTHS_K):
    """The rows of the result, and the gradients."""
    q, k, v = nested(leaves[0], LENGTHS_Q), nested(leaves[1], lengths_k), nested(leaves[2], lengths_k)
    v = torch.nested.nested_tensor_from_jagged(leaves[2], k.offsets()).transpose(1, 2)
    if lengths_k == LENGTHS_Q:
        k, v = (torch.nested.nested_tensor_from_jagged(x, q.offsets()).transpose(1, 2) for x in leaves[1:])
    out = function(q, k, v)
    assert out.is_nested and out.shape[:2] == q.shape[:2]
    out = out.transpose(1, 2).values()
    return (out.detach(), *torch.autograd.grad(out.square().sum(), leaves))


def sequence_by_sequence(leaves, lengths_k, **options):
    outs = []
    parts = [x.split(lengths) for x, lengths in zip(leaves, (LENGTHS_Q, lengths_k, lengths_k), strict=True)]
    for one in zip(*parts, strict=True):
        q, k, v = (x.transpose(0, 1)[None] for x in one)
        outs.append(rapt.torch.sdpa(q, k, v, enable_gqa=True, **options)[0].transpose(0, 1))
    out = torch.cat(outs)
    return (out.detach(), *torch.autograd.grad(out.square().sum(), leaves))


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}], ids=str)
@pytest.mark.parametrize("lengths_k", [LENGTHS_Q, LENGTHS_K], ids=["self", "cross"])
def test_each_sequence_is_as_alone(options, lengths_k):
    leaves = rows(lengths_k)
    found = run(lambda q, k, v: rapt.torch.sdpa(q, k, v, enable_gqa=True, **options), leaves, lengths_k)
    torch.testing.assert_close(found, sequence_by_sequence(leaves, lengths_k, **options))


def test_dropout():
    leaves = rows(LENGTHS_Q)
    ones = [torch.ones_like(x).requires_grad_() for x in leaves]
    out, _, _, dv = run(lambda q, k, v: rapt.torch.sdpa(q, k, v, dropout_p=0.5), ones, LENGTHS_Q)
    assert out.unique().numel() > 2
    torch.testing.assert_close(dv.sum(), 2 * out.square().sum())
    assert not run(lambda q, k, v: rapt.torch.sdpa(q, k, v, dropout_p=1.0), ones, LENGTHS_Q)[0].any()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_one_graph(backend):
    def attend(q, k, v):
        return rapt.torch.sdpa(q, k, v, is_causal=True)

    leaves = rows(LENGTHS_Q)
    compiled = torch.compile(attend, backend=backend, fullgraph=True)
    torch.testing.assert_close(run(compiled, leaves, LENGTHS_Q), run(attend, leaves, LENGTHS_Q))


def attend(q, k, v):
    return scaled_dot_product_attention(q, k, v)


def square():
    """As many heads everywhere: torch's own attention of nested tensors has neither GQA nor causality on the CPU."""
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(sum(LENGTHS_Q), 2, 8, generator=generator).requires_grad_() for _ in range(3)]


def test_takeover():
    leaves = square()
    expected = run(attend, leaves, LENGTHS_Q)
    with rapt.torch.enabled():
        torch.testing.assert_close(run(attend, leaves, LENGTHS_Q), expected)
        report = rapt.torch.report()
        assert report.taken == {"forward": 1, "backward": 1} and not report.refused
    torch.testing.assert_close(run(attend, leaves, LENGTHS_Q), expected)
    assert rapt.torch.report().taken == {"forward": 1, "backward": 1}


def test_takeover_of_graphs():
    leaves = square()
    expected = run(attend, leaves, LENGTHS_Q)
    with rapt.torch.enabled():
        compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(run(compiled, leaves, LENGTHS_Q), expected)
        assert rapt.torch.report().taken["traced"] and not rapt.torch.report().refused


def test_what_takeover_leaves_to_torch_is_reported():
    leaves = [x.double() for x in square()]
    with rapt.torch.enabled():
        run(attend, leaves, LENGTHS_Q)
        strided = torch.nested.nested_tensor([torch.randn(2, 3, 8), torch.randn(2, 5, 8)])
        scaled_dot_product_attention(strided, strided, strided)
        reasons = list(rapt.torch.report().refused)
    assert any("nested: float64" in reason for reason in reasons), reasons
    assert any("not of the layout torch.jagged" in reason for reason in reasons), reasons


def test_other_nested_tensors_are_refused_by_name():
    q, k, v = (nested(x.detach(), LENGTHS_Q) for x in square())
    for args, error, message in (
        ((q, k.transpose(1, 2).values(), v), ValueError, "key is not nested"),
        ((q, k, v, torch.ones(1, 1, dtype=torch.bool)), NotImplementedError, "attn_mask is given"),
        ((q, k, nested(torch.randn(12, 2, 8), (4, 5, 3))), ValueError, "key and value have sequences of different"),
        ((q.transpose(1, 2),) * 3, NotImplementedError, "it must be .batch, heads, seqlens, head_dim"),
        ((torch.nested.nested_tensor([torch.randn(2, 3, 8)]),) * 3, NotImplementedError, "it must be torch.jagged"),
    ):
        with pytest.raises(error, match=message):
            rapt.torch.sdpa(*args)
