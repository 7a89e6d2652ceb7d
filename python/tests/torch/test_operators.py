"""rapt.torch.attention and the operators beneath it: values, gradients, and what PyTorch asks of an operator."""

import subprocess
import sys

import numpy as np
import pytest
import rapt.torch
import torch
from reference import assert_within_rule, forward, logits

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
    numpy["alibi"] = numpy.pop("alibi_slopes", None)
    sink = numpy.pop("sink", None)
    dropped = numpy.pop("dropout", 0), numpy.pop("dropout_seed", None)
    arrays = [x.double().numpy() for x in tensors[:3]]
    s = logits(*arrays[:2], **numpy)
    if not dropped[0]:
        out, lse = forward(*arrays, sink=sink, **numpy)
        assert np.abs(exact["out"].numpy() - out).max() < 1e-12 * np.abs(out).max()
        assert np.allclose(exact["lse"].numpy(), lse, rtol=1e-12, atol=1e-12)
    limit = np.abs(s[np.isfinite(s)]).max()
    for name in ("out", "lse"):
        assert_within_rule(name, results[name].double(), exact[name], plain[name].double(), limit)

    for name, gradient in backward(results, *tensors, options).items():
        assert (gradient == results[name]).all()
    own = backward(plain, *tensors, options)  # both from the same out and lse, as in `rapt verify`
    for name, gradient in backward(plain, *tensors, options, "math").items():
        assert_within_rule(name, own[name].double(), exact[name], gradient.double(), limit)


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


def test_double_backward_is_refused():
    tensors = small()
    out = rapt.torch.attention(**tensors)
    (dq,) = torch.autograd.grad(out.sum(), tensors["q"], create_graph=True)  # a graph alone is no error
    with pytest.raises(NotImplementedError, match="attention_backward has no gradient"):
        dq.sum().backward()


def test_forward_mode_is_refused():
    tensors = {name: x.detach() for name, x in small().items()}
    with pytest.raises((RuntimeError, NotImplementedError), match="forward|jvp"):
        torch.func.jvp(lambda q: rapt.torch.attention(q, tensors["k"], tensors["v"]), (tensors["q"],), (tensors["q"],))


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
