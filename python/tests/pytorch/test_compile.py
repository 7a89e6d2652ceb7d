"""torch.compile: the operators are traced completely, and takeover reaches graphs compiled before and after it."""

import pytest
import rapt.torch
import torch
from torch.nn.functional import scaled_dot_product_attention

SHAPES = ((2, 4, 20, 16), (2, 2, 24, 16), (2, 2, 24, 16))


@pytest.fixture(autouse=True)
def fresh():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def qkv(scale=1.0):
    generator = torch.Generator().manual_seed(1)
    return [(scale * torch.randn(shape, generator=generator)).requires_grad_() for shape in SHAPES]


def run(function, inputs):
    out = function(*inputs)
    return (out.detach(), *torch.autograd.grad(out.square().sum(), inputs))


def assert_same(results, expected):
    for result, one in zip(results, expected, strict=True):
        torch.testing.assert_close(result, one, rtol=1e-5, atol=1e-5)


MASK = torch.rand(20, 24, generator=torch.Generator().manual_seed(2)) < 0.7
FUNCTIONS = {
    "sdpa": lambda q, k, v: rapt.torch.sdpa(2 * q, k, v, is_causal=True, enable_gqa=True) + 1,
    "sdpa, mask": lambda q, k, v: rapt.torch.sdpa(2 * q, k, v, MASK, enable_gqa=True) + 1,
    "attention": lambda q, k, v: rapt.torch.attention(
        *(x.transpose(1, 2) for x in (q, k, v)), window=(5, 2), softcap=4.0, sink=q[0, :, 0, 0]
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_graph_with_the_same_results(name):
    compiled = torch.compile(FUNCTIONS[name], backend="aot_eager", fullgraph=True)
    assert_same(run(compiled, qkv()), run(FUNCTIONS[name], qkv()))


def test_shapes_that_change():
    def attend(q, k, v):
        return rapt.torch.sdpa(q, k, v, is_causal=True)

    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True, dynamic=True)
    for seqlen in (5, 9, 30):
        inputs = [torch.randn(1, 2, seqlen, 8, requires_grad=True) for _ in range(3)]
        assert_same(run(compiled, inputs), run(attend, inputs))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_sizes_that_depend_on_data(backend):
    def attend(x, chosen):
        return rapt.torch.sdpa(x[chosen], x[chosen], x[chosen], is_causal=True)

    x = torch.randn(4, 2, 5, 8, requires_grad=True)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(attend, backend=backend, fullgraph=True)
        for chosen in ([True, False, True, True], [False] * 4):
            chosen = torch.tensor(chosen)
            assert_same(*(run(lambda x, f=f, c=chosen: f(x, c), [x]) for f in (compiled, attend)))


def test_sequences_whose_length_depends_on_data():
    def attend(x, chosen):
        rows = x[:, :, chosen]
        return rapt.torch.sdpa(rows, rows, rows, is_causal=True)

    x, chosen = torch.randn(2, 2, 5, 8, requires_grad=True), torch.tensor([True, False, True, True, False])
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
        assert_same(*(run(lambda x, f=f: f(x, chosen), [x]) for f in (compiled, attend)))


def test_export_of_sizes_that_depend_on_data():
    class Model(torch.nn.Module):
        def forward(self, x, chosen):
            return rapt.torch.sdpa(x[chosen], x[chosen], x[chosen])

    x, chosen = torch.randn(4, 2, 5, 8), torch.tensor([True, False, True, True])
    program = torch.export.export(Model(), (x, chosen))
    torch.testing.assert_close(program.module()(x, ~chosen), Model()(x, ~chosen))


def test_dropout_draws_anew_in_each_run_of_a_graph():
    compiled = torch.compile(
        lambda q, k, v: rapt.torch.sdpa(q, k, v, dropout_p=0.5), backend="aot_eager", fullgraph=True
    )
    q, k, v = (torch.ones(1, 2, 30, 8, requires_grad=True) for _ in range(3))
    first, second = compiled(q, k, v), compiled(q, k, v)
    assert not (first == second).all()
    for out in (first, second):
        (gradient,) = torch.autograd.grad(out.sum(), v)  # out is linear in v, which is all ones
        torch.testing.assert_close(gradient.sum(), out.sum())


def test_inductor():
    compiled = torch.compile(FUNCTIONS["sdpa"], fullgraph=True)
    assert_same(run(compiled, qkv()), run(FUNCTIONS["sdpa"], qkv()))


def attend(q, k, v):
    return scaled_dot_product_attention(2 * q, k, v, MASK, enable_gqa=True) + 1


of_operators = pytest.mark.skipif(
    not hasattr(torch.library, "get_kernel"), reason="this torch does not give its kernels out"
)


@of_operators
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_takeover_reaches_graphs_compiled_before_it(backend):
    expected = run(attend, qkv())
    compiled = torch.compile(attend, backend=backend, fullgraph=True)
    assert_same(run(compiled, qkv()), expected)
    with rapt.torch.enabled():
        assert_same(run(compiled, qkv()), expected)
        assert rapt.torch.report().taken == {"forward": 1, "backward": 1}
    before = rapt.torch.report().taken
    assert_same(run(compiled, qkv()), expected)
    assert rapt.torch.report().taken == before


@of_operators
def test_graphs_compiled_during_takeover_are_torchs_afterwards():
    expected = run(attend, qkv())
    compiled = torch.compile(attend, backend="inductor", fullgraph=True)
    with rapt.torch.enabled():
        assert_same(run(compiled, qkv()), expected)
        before = rapt.torch.report().taken
        assert before == {"forward": 1, "backward": 1}
    assert_same(run(compiled, qkv()), expected)
    assert rapt.torch.report().taken == before


def test_an_exported_program_has_torchs_operators_alone():
    """Or it could not be loaded without Rapt."""
    if not hasattr(torch.compiler, "is_exporting"):
        pytest.skip("this torch does not say that it exports")

    class Model(torch.nn.Module):
        def forward(self, q, k, v):
            return scaled_dot_product_attention(q, k, v, MASK, enable_gqa=True)  # which is math

    inputs = tuple(qkv())
    expected = Model()(*inputs)
    with rapt.torch.enabled():
        program = torch.export.export(Model(), inputs)
        decomposed = program.run_decompositions()
        torch.testing.assert_close(program.module()(*inputs), expected, rtol=1e-5, atol=1e-5)
        assert rapt.torch.report().taken.get("forward") == 1  # when it runs, Rapt takes it
    names = [str(node.target) for each in (program, decomposed) for node in each.graph.nodes]
    assert not [name for name in names if "rapt" in name]
