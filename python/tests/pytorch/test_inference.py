"""inference.py with CPU tensors in the place of a GPU's: which calls it takes, and which go to torch's function."""

import operator

import pytest
import rapt.torch
import torch
from rapt.torch import gpu_call, inference, takeover
from rapt.torch.report import Counts
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.skipif(
    not hasattr(torch.library, "get_kernel"), reason="this torch keeps its kernels, so the whole function is replaced"
)


@pytest.fixture
def counts(monkeypatch):
    """Of the installed shortcut, which takes CPU tensors for a GPU's."""
    monkeypatch.setattr(gpu_call, "backend", lambda: "cpu")
    monkeypatch.setattr(inference, "_on_gpu", operator.attrgetter("is_cpu"))
    found = Counts()
    inference.install(found)
    yield found
    inference.remove()
    assert functional.scaled_dot_product_attention is inference._original


def normal(*shapes, dtype=torch.bfloat16):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def qkv(**options):
    return normal(*[(2, 4, 20, 32)] * 3, **options)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        ([(2, 4, 20, 32)] * 3, {}),
        ([(2, 4, 20, 32)] * 3, {"is_causal": True, "scale": 0.3}),
        ([(2, 4, 9, 40), (2, 4, 33, 40), (2, 4, 33, 24)], {"is_causal": True}),
        ([(1, 8, 1, 64), (1, 2, 70, 64), (1, 2, 70, 64)], {"enable_gqa": True}),
    ],
)
def test_results_are_torchs(counts, shapes, options, dtype):
    tensors = normal(*shapes, dtype=dtype)
    expected = inference._original(*(x.double() for x in tensors), **options)
    out = functional.scaled_dot_product_attention(*tensors, **options)
    assert out.dtype == dtype and counts.taken == {"forward": 1}
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=1e-2 if dtype == torch.bfloat16 else 1e-3)


def test_the_layout_of_the_result_is_the_querys(counts):
    q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in qkv())
    with torch.inference_mode():
        out = functional.scaled_dot_product_attention(q, k, v)
    assert out.stride() == q.stride() and out.is_inference() and counts.taken == {"forward": 1}


class Watches(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Dispatches(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Marked(torch.Tensor):
    pass


BLOCKS = {
    "function mode": Watches,
    "dispatch mode": Dispatches,
    "profiler": torch.autograd.profiler.profile,
    "forward-mode derivatives": torch.autograd.forward_ad.dual_level,
    "the user's choice": lambda: sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_where_something_watches_torchs_function_is_called(counts, block):
    with BLOCKS[block]():
        functional.scaled_dot_product_attention(*qkv())
    assert not counts.taken


def test_autocast_is_torchs(counts, monkeypatch):
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda: True)  # of CUDA, which this torch may lack
    functional.scaled_dot_product_attention(*qkv())
    assert not counts.taken


@pytest.mark.parametrize(
    ("tensors", "options"),
    [
        ([x.requires_grad_() for x in qkv()], {}),
        (qkv(dtype=torch.float32), {}),
        ([x.as_subclass(Marked) for x in qkv()], {}),
        ([x[0] for x in qkv()], {}),
        (qkv(), {"attn_mask": torch.ones(20, 20, dtype=torch.bool)}),
        (qkv(), {"dropout_p": 0.5}),
    ],
)
def test_other_calls_are_torchs(counts, tensors, options):
    functional.scaled_dot_product_attention(*tensors, **options)
    assert not counts.taken


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda q, k, v: (q, k.half(), v), {}),
        (lambda q, k, v: (q, k[:, :2], v[:, :2]), {}),  # heads of q and k differ, without enable_gqa
        (lambda q, k, v: (q, k[..., :16], v), {}),
        (lambda q, k, v: (q, k, v), {"is_causal": 1}),
        (lambda q, k, v: (q, k, v), {"scale": "1"}),
    ],
)
def test_errors_are_torchs(counts, change, options):
    tensors = change(*qkv())
    with pytest.raises((RuntimeError, TypeError)) as expected:
        inference._original(*tensors, **options)
    with pytest.raises(type(expected.value)):
        functional.scaled_dot_product_attention(*tensors, **options)
    assert not counts.taken


def test_no_gradient_is_asked_for(counts):
    tensors = [x.requires_grad_() for x in qkv()]
    with torch.no_grad():
        functional.scaled_dot_product_attention(*tensors)
    assert counts.taken == {"forward": 1}


def test_vmap_and_graphs(counts):
    q, k, v = qkv(dtype=torch.float16)
    torch.func.vmap(functional.scaled_dot_product_attention)(q[None], k[None], v[None])

    class Attend(torch.nn.Module):
        def forward(self, q, k, v):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    names = {node.name for node in torch.export.export(Attend(), (q, k, v)).graph.nodes}
    assert "scaled_dot_product_attention" in names
    scripted = torch.jit.script(Attend())
    assert "aten::scaled_dot_product_attention" in str(scripted.graph)
    traced = torch.jit.trace(Attend(), (q, k, v), check_trace=False)
    assert "aten::scaled_dot_product_attention" in str(traced.graph)
    fx = torch.fx.symbolic_trace(Attend())
    assert "scaled_dot_product_attention" in fx.code
    assert not counts.taken


def test_compiled_graphs_have_torchs_operator(counts):
    targets = []

    def backend(graph, _):
        targets.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph

    def attend(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    compiled = torch.compile(attend, backend=backend, fullgraph=True)
    compiled(*qkv())
    assert len(targets) == 1 and "scaled_dot_product_attention" in targets[0] and not counts.taken


def test_a_function_of_another_library_stays(monkeypatch):
    def theirs(*args, **options):
        raise AssertionError

    monkeypatch.setattr(functional, "scaled_dot_product_attention", theirs)
    inference.install(Counts())
    assert functional.scaled_dot_product_attention is theirs and not inference.installed()


def test_a_kept_function_after_disable(counts):
    kept = functional.scaled_dot_product_attention
    inference.remove()
    torch.testing.assert_close(kept(*qkv()), inference._original(*qkv()))
    assert not counts.taken
    inference.install(counts)


def test_enable_installs_it_in_builds_for_gpus(monkeypatch):
    monkeypatch.setattr(takeover, "_gpu_modules", lambda: ())
    with rapt.torch.enabled():
        assert not inference.installed()
    installed = []
    monkeypatch.setattr(takeover, "_gpu_modules", lambda: (takeover.flash_gpu,))
    monkeypatch.setattr(inference, "install", installed.append)
    with rapt.torch.enabled():
        assert installed == [takeover._counts]
