"""The operators below rapt.torch.attention: what PyTorch requires of an operator."""

import contextlib
import subprocess
import sys
import types

import pytest
import rapt.torch
import torch
from rapt.torch import operators


def normal(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def small(dtype=torch.float64, **more):
    """q, k and v that require grad, of [1, 5, 2, 3] and [1, 7, 1, 3]."""
    shapes = {"q": (1, 5, 2, 3), "k": (1, 7, 1, 3), "v": (1, 7, 1, 3)}
    tensors = {name: normal(*shape).to(dtype) for name, shape in shapes.items()}
    return {name: tensor.requires_grad_() for name, tensor in (tensors | more).items()}


GRADCHECK = {
    "plain": ({}, {}),
    "causal, softcap": ({}, {"causal": True, "softcap": 3.0}),
    "bias": ({"bias": normal(1, 2, 1, 7)}, {}),
    "mask, empty row": ({}, {"mask": torch.arange(5)[None, None, :, None] != torch.zeros(1, 1, 1, 7)}),
    "sink": ({"sink": normal(2)}, {"window": (2, 1)}),
    "dropout": ({}, {"dropout": 0.4, "dropout_seed": 3}),
}


@pytest.mark.parametrize("case", GRADCHECK)
def test_gradcheck_in_float64_on_the_math_backend(case):
    tensors, options = GRADCHECK[case]
    leaves = small(**tensors)

    def function(*values):
        return rapt.torch.attention(**dict(zip(leaves, values, strict=True)), **options)

    assert torch.autograd.gradcheck(function, tuple(leaves.values()))


@pytest.mark.parametrize("case", GRADCHECK)
def test_gradcheck_in_float32_tolerance_on_the_cpu_backend(case):
    tensors, options = GRADCHECK[case]
    leaves = small(torch.float32, **{name: x.float() for name, x in tensors.items()})

    def function(*values):
        return rapt.torch.attention(**dict(zip(leaves, values, strict=True)), **options, backend="cpu")

    assert torch.autograd.gradcheck(function, tuple(leaves.values()), eps=1e-2, atol=2e-3, rtol=2e-3)


def test_only_the_gradients_that_are_needed_are_computed():
    calls = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function is torch.ops.rapt.attention_backward.default:
                calls.append(list(args[0]))
            return function(*args, **kwargs or {})

    tensors = small(bias=normal(1, 1, 5, 7), sink=normal(2))
    names = list(tensors)
    for name in names:
        only = {other: x.detach().requires_grad_(other == name) for other, x in tensors.items()}
        out = rapt.torch.attention(**only)
        with Watch():
            out.sum().backward()
        assert [x.grad is not None for x in only.values()] == [other == name for other in names]
    assert calls == torch.eye(5, dtype=torch.bool).tolist()


def test_no_graph_without_grad():
    tensors = small()
    with torch.no_grad():
        assert not rapt.torch.attention(**tensors).requires_grad
    with torch.inference_mode():
        assert rapt.torch.attention(**tensors).is_inference()
    assert not rapt.torch.attention(**{name: x.detach() for name, x in tensors.items()}).requires_grad


def test_gradients_of_nested_transforms_reach_the_outer_one():
    q, k, v = (x.detach() for x in small().values())

    def outer(attend):
        # the inner transform's variable is only v, in which attention is linear; the outer one is q
        return torch.func.grad(lambda q: torch.func.vjp(lambda v: attend(q, k, v), v)[0].square().sum())(q)

    def attend(q, k, v):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True).transpose(1, 2)

    torch.testing.assert_close(outer(rapt.torch.attention), outer(attend))


def test_alibi_slopes_that_require_grad_are_refused():
    with pytest.raises(ValueError, match="alibi_slopes requires grad"):
        rapt.torch.attention(**small(torch.float32), alibi_slopes=torch.ones(2, requires_grad=True))


def test_wrong_options_are_errors_that_name_them():
    tensors = small()
    for options, message in (
        ({"causal": "bottom"}, "causal must be .* it is 'bottom'"),
        ({"window": (-2, 0)}, "window is -2,0"),
        ({"dropout": 1.0}, r"dropout.probability is 1, must be in \[0, 1\)"),
        ({"backend": "fast"}, 'backend is "fast"'),
        ({"bias": normal(3, 7)}, "bias has 2 dimensions"),
    ):
        with pytest.raises(ValueError, match=message):
            rapt.torch.attention(**tensors, **options)
    with pytest.raises(TypeError, match="seqused_k"):
        rapt.torch.attention(**tensors, seqused_k=torch.tensor([3]))


@pytest.mark.parametrize("case", ["plain", "bias", "mask, empty row", "sink", "dropout"])
@pytest.mark.parametrize("heads_first", [False, True], ids=["", "heads first"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["fp32", "fp64"])
def test_opcheck(case, heads_first, dtype):
    tensors, options = GRADCHECK[case]
    leaves = small(dtype, **{name: x.to(dtype) for name, x in tensors.items()})
    q, k, v = (leaves[name].detach() for name in "qkv")
    if heads_first:
        q, k, v = (x.transpose(1, 2).contiguous() for x in (q, k, v))
    q, k, v = (x.requires_grad_() for x in (q, k, v))
    seed = torch.tensor(options.get("dropout_seed", 0))
    args = (q, k, v, heads_first, "top-left", 0.3, leaves.get("bias"), options.get("mask"), leaves.get("sink"))
    args += (None, None, None, seed, options.get("dropout", 0.0))
    torch.library.opcheck(torch.ops.rapt.attention.default, args)

    out, lse = (x.detach() for x in torch.ops.rapt.attention(*args))
    wrt = [True, True, True, "bias" in leaves, "sink" in leaves]
    detached = [x.detach() if isinstance(x, torch.Tensor) else x for x in args]
    torch.library.opcheck(torch.ops.rapt.attention_backward.default, (wrt, out, out, lse, *detached))


def test_fake_results_lie_in_memory_as_real_ones():
    from torch._subclasses.fake_tensor import FakeTensorMode

    shapes = ((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6))
    for order in ((0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3), (0, 1, 3, 2)):
        for head_dim_v in (8, 6):
            q, k, v = (normal(*shape).float().permute(order).contiguous() for shape in shapes)
            back = [order.index(i) for i in range(4)]
            q, k, v = q.permute(back), k.permute(back), v.permute(back)[..., :head_dim_v]
            args = (True,)  # heads first
            real = torch.ops.rapt.attention(q, k, v, *args)
            real += tuple(torch.ops.rapt.attention_backward([True] * 3 + [False] * 2, *real[:1], *real, q, k, v, *args))
            with FakeTensorMode() as mode:
                q, k, v = (mode.from_tensor(x) for x in (q, k, v))
                fake = torch.ops.rapt.attention(q, k, v, *args)
                wrt = [True] * 3 + [False] * 2
                fake += tuple(torch.ops.rapt.attention_backward(wrt, *fake[:1], *fake, q, k, v, *args))
            for x, y in zip(real, fake, strict=True):
                assert (x.shape, x.stride(), x.dtype) == (y.shape, y.stride(), y.dtype)


def test_autocast_gives_its_type_to_all():
    q, k, v = (x.float().requires_grad_() for x in (normal(1, 2, 5, 8), normal(1, 2, 7, 8), normal(1, 2, 7, 8)))
    mask = normal(5, 7).float()
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype):
            expected = torch.nn.functional.scaled_dot_product_attention(q, k.half(), v, mask)
            out = rapt.torch.sdpa(q, k.half(), v, mask)
            sink = torch.ones(2)
            other = rapt.torch.attention(*(x.transpose(1, 2) for x in (q, k, v)), sink=sink, alibi_slopes=sink)
        assert out.dtype == expected.dtype == other.dtype == dtype
        torch.testing.assert_close(out, expected, rtol=2e-2, atol=2e-2)
        assert all(x.dtype == torch.float32 for x in torch.autograd.grad(out.sum(), (q, k, v)))


def test_vmap_is_sample_by_sample():
    q, k, v, bias = (normal(3, 1, 2, 5, 4), normal(3, 1, 2, 5, 4), normal(1, 2, 5, 4), normal(3, 1, 1, 5, 5))

    def attend(q, k, bias):
        return rapt.torch.sdpa(q, k, v, bias, is_causal=True)

    def loss(*args):
        return attend(*args).square().sum()

    expected = torch.stack([attend(*sample) for sample in zip(q, k, bias, strict=True)])
    torch.testing.assert_close(torch.vmap(attend)(q, k, bias), expected)
    gradients = torch.vmap(torch.func.grad(loss, (0, 1, 2)))(q, k, bias)
    for i, sample in enumerate(zip(q, k, bias, strict=True)):
        for result, one in zip(gradients, torch.func.grad(loss, (0, 1, 2))(*sample), strict=True):
            torch.testing.assert_close(result[i], one)


@pytest.mark.parametrize("case", ["bias of all", "bias of each", "mask", "sink"])
def test_vmap_of_batches_is_one_call(case, monkeypatch):
    """Samples of batch 2 in another dimension; a sink belongs to a batch, so its samples are computed one by one."""
    q, k, v = normal(2, 4, 5, 3, 4), normal(2, 2, 6, 4), normal(2, 2, 6, 3, 4)
    option = {"bias of all": normal(1, 4, 5, 6), "bias of each": normal(2, 1, 5, 6, 3), "sink": normal(4)}.get(case)
    if case == "mask":
        option = torch.rand(1, 1, 5, 6) < 0.7
    dims = (3, None, 3, 4 if case == "bias of each" else None)

    def loss(q, k, v, option):
        options = {case.partition(" ")[0]: option}
        out = rapt.torch.attention(*(x.transpose(1, 2) for x in (q, k, v)), **options)
        return out.square().sum()

    wanted = (0, 1, 2) if case == "mask" else (0, 1, 2, 3)
    calls = []
    for name in ("forward", "backward"):
        function = getattr(rapt._core, name)
        monkeypatch.setattr(rapt._core, name, lambda *a, f=function, n=name, **o: calls.append(n) or f(*a, **o))
    found = torch.vmap(torch.func.grad(loss, wanted), dims)(q, k, v, option)
    assert calls == (["forward", "backward"] if case != "sink" else ["forward"] * 3 + ["backward"] * 3)
    for i in range(3):
        sample = [x if dim is None else x.select(dim, i) for x, dim in zip((q, k, v, option), dims, strict=True)]
        for result, one in zip(found, torch.func.grad(loss, wanted)(*sample), strict=True):
            torch.testing.assert_close(result[i], one, rtol=1e-4, atol=1e-5)


def test_vmap_of_dropout_asks_for_a_randomness():
    q = torch.zeros(3, 1, 2, 6, 4)
    value = torch.ones(1, 2, 6, 4)

    def attend(q):
        return rapt.torch.sdpa(q, q, value, dropout_p=0.5)

    with pytest.raises(RuntimeError, match="randomness"):
        torch.vmap(attend)(q)
    same, different = (torch.vmap(attend, randomness=each)(q) for each in ("same", "different"))
    assert (same[0] == same[1]).all() and not (different[0] == different[1]).all()


def test_checkpointing_sees_the_same_dropout():
    tensors = small(torch.float32)

    def attend(q, k, v):
        return rapt.torch.attention(q, k, v, dropout=0.5)

    torch.manual_seed(5)
    expected = torch.autograd.grad(attend(**tensors).sum(), list(tensors.values()))
    torch.manual_seed(5)
    out = torch.utils.checkpoint.checkpoint(attend, *tensors.values(), use_reentrant=False)
    for result, one in zip(torch.autograd.grad(out.sum(), list(tensors.values())), expected, strict=True):
        assert (result == one).all()


def test_tensors_that_require_grad_without_dlpacks_c_functions():
    class Old:  # like a tensor of a PyTorch without DLPack's C functions
        def __init__(self, tensor):
            self.tensor, self.requires_grad = tensor, tensor.requires_grad

        def detach(self):
            return self.tensor.detach()

        def __dlpack__(self, **options):
            return self.tensor.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    q, k, v = (x.detach() for x in small(torch.float32).values())
    expected = rapt.torch.attention(q, k, v)
    out = torch.empty_like(expected)
    rapt._core.forward(Old(q.requires_grad_()), Old(k), v, out)
    assert (out == expected).all()


def test_threads_are_those_of_torch_and_change_no_bit():
    tensors = [torch.randn(1, 512, 4, 64) for _ in range(3)]
    before, results = torch.get_num_threads(), [rapt.attention(*tensors, causal=True)]  # on Rapt's own threads
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(rapt.torch.attention(*tensors, causal=True))
    finally:
        torch.set_num_threads(before)
    assert all((result == results[0]).all() for result in results)


def test_a_forked_child_computes_with_threads_of_its_own():
    program = """
import os, torch, rapt.torch
tensors = [torch.randn(1, 512, 4, 64) for _ in range(3)]
torch.set_num_threads(2)
expected = rapt.torch.attention(*tensors)  # starts OpenMP's threads, which the child lacks
child = os.fork()
if child == 0:
    same = rapt.torch.attention(*tensors).numpy().tobytes() == expected.numpy().tobytes()  # torch's == would hang
    os._exit(0 if same else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", program], timeout=100, check=True)


@pytest.mark.parametrize(("kernels", "has"), [(["forward.d64", "split.d64"], False), (["backward_dq.d64"], True)])
def test_a_gpu_without_backward_kernels(kernels, has, monkeypatch):
    """As gfx906: a forward whose gradient somebody will want is refused, so that enable() leaves it to torch."""

    class Core:
        devices = staticmethod(lambda _: [{"archive": "gfx1030"}, {"archive": "gfx906"}])
        archives = staticmethod(
            lambda: [("a/gfx90a.rapt", "gfx90a, 2 kernels by x"), ("a/906", "gfx906, 2 kernels by x")]
        )
        archive_kernels = staticmethod({"a/906": kernels}.get)

    monkeypatch.setattr(operators, "_core", Core)
    operators._has_backward.cache_clear()

    def tensor(device):
        return types.SimpleNamespace(shape=(1, 2, 4, 64), device=torch.device("cuda", device))

    operators.check_has_backward(tensor(0), tensor(0))  # without an archive the call itself says so
    with contextlib.nullcontext() if has else pytest.raises(NotImplementedError, match="no backward pass"):
        operators.check_has_backward(tensor(1), tensor(1))
    operators._has_backward.cache_clear()
