"""CUDA tensors of PyTorch, CuPy and JAX. `tools/gpu-tests python` runs this on a machine with an NVIDIA GPU."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import rapt.torch
import torch
from reference import assert_within_rule, forward
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch has no CUDA device")

TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 3e-2, torch.float16: 4e-3}
DTYPES = pytest.mark.parametrize("dtype", TOLERANCE, ids=["fp32", "bf16", "fp16"])


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def normal(*shapes, dtype=torch.bfloat16, device="cuda"):
    """The same numbers on each device."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator).to(device, dtype) for shape in shapes]


def qkv(dtype=torch.bfloat16, heads_k=2, seqlen_k=90, device="cuda"):
    """[batch, heads, seqlen, head_dim]."""
    shapes = ((2, 4, 70, 64), (2, heads_k, seqlen_k, 64), (2, heads_k, seqlen_k, 64))
    return [x.requires_grad_() for x in normal(*shapes, dtype=dtype, device=device)]


def square(dtype=torch.bfloat16):
    """For torch's flash operators, which take no groups of heads and no causality of two lengths."""
    return qkv(dtype, heads_k=4, seqlen_k=70)


def heads_last(*tensors):
    return [x.transpose(1, 2) for x in tensors]


def run(function, inputs):
    """out and the gradients."""
    out = function(*inputs)
    return [out.detach(), *torch.autograd.grad(out.float().square().sum(), inputs)]


def in_float64(function, inputs):
    return run(function, [x.detach().double().requires_grad_() for x in inputs])


def assert_close(results, expected, tolerance):
    for result, one in zip(results, expected, strict=True):
        scale = max(1.0, one.abs().max().item())
        torch.testing.assert_close(result.double(), one.double(), rtol=tolerance, atol=tolerance * scale)


def assert_same_bits(results, expected):
    assert all(torch.equal(x, y) for x, y in zip(results, expected, strict=True))


# autograd


@DTYPES
def test_gradients(dtype):
    bias, sink = (x.requires_grad_() for x in normal((1, 4, 70, 90), (4,), dtype=torch.float32))
    inputs = [*qkv(dtype), bias, sink]

    def ours(q, k, v, bias, sink):
        return rapt.torch.attention(*heads_last(q, k, v), causal=True, window=(40, -1), bias=bias, sink=sink)

    def exact(q, k, v, bias, sink):
        k, v = (x.repeat_interleave(2, 1) for x in (k, v))
        logits = q @ k.mT / 8 + bias
        distance = (torch.arange(90) - torch.arange(70)[:, None] - 20).cuda()
        logits = logits.masked_fill((distance > 0) | (distance < -40), -torch.inf)
        logits = torch.cat([logits, sink[:, None, None].expand(2, -1, 70, 1)], -1)
        return (logits.softmax(-1)[..., :-1] @ v).transpose(1, 2)

    results, expected = run(ours, inputs), in_float64(exact, inputs)
    assert all(x.device.type == "cuda" for x in results)
    assert_close(results, expected, TOLERANCE[dtype])


def test_dropout_has_the_mask_of_the_cpu():
    results = [
        run(lambda *x: rapt.torch.attention(*heads_last(*x), dropout=0.3, dropout_seed=7), qkv(torch.float32, device=d))
        for d in ("cuda", "cpu")
    ]
    assert_close([x.cpu() for x in results[0]], results[1], 1e-4)


# torch.compile

FUNCTIONS = {
    "sdpa": lambda q, k, v: rapt.torch.sdpa(2 * q, k, v, is_causal=True, enable_gqa=True) + 1,
    "sdpa, mask": lambda q, k, v: rapt.torch.sdpa(2 * q, k, v, k[:, :1, None, :, 0] > 0, enable_gqa=True) + 1,
    "attention": lambda q, k, v: rapt.torch.attention(
        *(x.transpose(1, 2) for x in (q, k, v)), window=(5, 2), softcap=4.0, sink=q[0, :, 0, 0].float()
    ),
}


@pytest.fixture
def compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inductor(name, compiler):
    compiled = torch.compile(FUNCTIONS[name], fullgraph=True)
    assert_close(run(compiled, qkv()), run(FUNCTIONS[name], qkv()), TOLERANCE[torch.bfloat16])


def test_inductor_with_graphs(compiler):
    compiled = torch.compile(FUNCTIONS["sdpa"], fullgraph=True, mode="reduce-overhead")
    expected = run(FUNCTIONS["sdpa"], qkv())
    for _ in range(4):  # warms up, captures, and replays
        torch.compiler.cudagraph_mark_step_begin()
        assert_close(run(compiled, qkv()), expected, TOLERANCE[torch.bfloat16])


# CUDA graphs


def test_deterministic_algorithms_have_equal_bits(deterministic):
    inputs = [x.requires_grad_() for x in normal(*[(1, 4, 2000, 128)] * 3)]
    with rapt.torch.enabled(always=True):
        first, *others = [run(causal, inputs) for _ in range(20)]
        assert rapt.torch.report().taken["backward"] == 20
    assert all(torch.equal(x, y) for other in others for x, y in zip(first, other, strict=True))


def causal(q, k, v):
    return scaled_dot_product_attention(q, k, v, is_causal=True)


@pytest.mark.parametrize("taken_over", [False, True])
def test_graphs_of_both_passes(taken_over, deterministic):
    inputs, others = square(), [2 * x.detach() for x in square()]

    def attend(q, k, v):
        return (scaled_dot_product_attention if taken_over else rapt.torch.sdpa)(q, k, v, is_causal=True)

    with rapt.torch.enabled(always=True):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            run(attend, inputs)  # loads the kernels
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = run(attend, inputs)
        assert rapt.torch.report().taken == ({"forward": 2, "backward": 2} if taken_over else {})
        for values in (others, square()):
            with torch.no_grad():
                for x, y in zip(inputs, values, strict=True):
                    x.copy_(y)
            graph.replay()
            assert_same_bits(results, run(attend, [x.detach().requires_grad_() for x in values]))


def test_a_graph_of_a_cache_that_grows():
    q, k, v, *new = normal(*((2, n, 4, 64) for n in (1, 300, 300, 1, 1)))
    used, out = torch.tensor([100, 7], dtype=torch.int32, device="cuda"), torch.empty_like(q)

    def step():
        rapt.attention(q, k, v, out=out, new_k=new[0], new_v=new[1], seqused_k=used)
        used.add_(1)

    step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(3):
        graph.replay()
    assert used.tolist() == [104, 11]  # capturing does nothing
    for b, length in enumerate(used.tolist()):
        assert torch.equal(k[b, length - 1], new[0][b, 0]) and not torch.equal(k[b, length], new[0][b, 0])
        one = rapt.attention(q[b : b + 1], k[b : b + 1, :length], v[b : b + 1, :length])
        assert_close([out[b : b + 1]], [one], TOLERANCE[torch.bfloat16])


# autocast


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("taken_over", [False, True])
def test_autocast(dtype, taken_over):
    inputs = square(dtype=torch.float32)
    with rapt.torch.enabled(always=True), torch.autocast("cuda", dtype):
        out = (scaled_dot_product_attention if taken_over else rapt.torch.sdpa)(*inputs)
        gradients = torch.autograd.grad(out.float().square().sum(), inputs)
        assert rapt.torch.report().taken == ({"forward": 1, "backward": 1} if taken_over else {})
    assert out.dtype == dtype and all(x.dtype == torch.float32 for x in gradients)
    expected = in_float64(scaled_dot_product_attention, inputs)
    assert_close([out.detach(), *gradients], expected, TOLERANCE[torch.bfloat16])


# rapt.torch.enable()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_takeover(dtype, causal, compiled, compiler):
    def attend(q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=causal)

    inputs = square(dtype=dtype)
    theirs, function = attend(*inputs), torch.compile(attend, fullgraph=True) if compiled else attend
    with rapt.torch.enabled(always=True):
        results = run(function, inputs)
        assert rapt.torch.report().taken == {"forward": 1, "backward": 1} and not rapt.torch.report().refused
    assert (results[0].shape, results[0].dtype) == (theirs.shape, theirs.dtype)
    assert_close(results, in_float64(attend, inputs), TOLERANCE[dtype])
    before = rapt.torch.report().taken
    run(function, inputs)
    assert rapt.torch.report().taken == before


def mask_of_keys():
    mask = torch.rand(2, 1, 70, 90, generator=torch.Generator().manual_seed(2)) < 0.5
    mask[..., 0] = True  # for rows with nothing to attend, torch gives cuDNN finite numbers, and others -inf
    return mask.cuda()


TAKEN = {
    "bool mask": lambda q, k, v: scaled_dot_product_attention(q, k, v, mask_of_keys()),
    "expanded bias": lambda q, k, v: scaled_dot_product_attention(q, k, v, v[:1, :1, None, :, 0]),
    "grouped": lambda q, k, v: scaled_dot_product_attention(q, k[:, ::2], v[:, ::2], enable_gqa=True),
    "another head_dim of v": lambda q, k, v: scaled_dot_product_attention(q, k, v[..., :40]),
    "causal": lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True),
    "one query": lambda q, k, v: scaled_dot_product_attention(q[:, :, :1], k, v),
    "scale": lambda q, k, v: scaled_dot_product_attention(q, k, v, scale=0.3),
}


@pytest.mark.parametrize("backend", ["default", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "fp32"])
@pytest.mark.parametrize("name", TAKEN)
def test_each_operator_of_torch(name, dtype, backend, monkeypatch):
    """By Rapt, whichever operator is chosen; two switches in between do not matter."""
    function, inputs = TAKEN[name], qkv(dtype, heads_k=4)
    monkeypatch.setattr(torch._C, "_get_flash_sdp_enabled", lambda: True)  # no choice of a user's
    chosen = [getattr(SDPBackend, backend)] if backend != "default" else list(SDPBackend.__members__.values())[1:]
    with sdpa_kernel(chosen):
        try:
            theirs = run(function, inputs)
        except RuntimeError:
            pytest.skip(f"{backend} does not take it")
        with rapt.torch.enabled(always=True):
            results = run(function, inputs)
            report = rapt.torch.report()
            out = function(*inputs)
    assert report.taken == {"forward": 1, "backward": 1} and not report.refused
    assert (results[0].shape, results[0].stride(), results[0].dtype) == (
        theirs[0].shape,
        theirs[0].stride(),
        theirs[0].dtype,
    )
    expected = in_float64(function, inputs)
    # torch's backward of Rapt's forward, but of a bias
    mixed = torch.autograd.grad(out.float().square().sum(), inputs)
    for found in (results, [results[0], *mixed]):
        assert_close([x.nan_to_num() for x in found], [x.nan_to_num() for x in expected], TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "fp32"])
def test_takeover_of_a_bias_with_a_gradient(dtype):
    (bias,) = (x.requires_grad_() for x in normal((1, 4, 70, 90), dtype=dtype))
    inputs = [*qkv(dtype, heads_k=4), bias]
    with rapt.torch.enabled(always=True):
        results = run(scaled_dot_product_attention, inputs)
        assert rapt.torch.report().taken == {"forward": 1, "backward": 1}
    assert_close(results, in_float64(scaled_dot_product_attention, inputs), TOLERANCE[dtype])


@pytest.mark.parametrize("head_dim", [64, 72])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=["bf16", "fp32"])
def test_takeover_of_dropout(dtype, head_dim):
    q, k = normal((2, 4, 64, head_dim), (2, 4, 64, head_dim), dtype=dtype)
    v = torch.eye(64, head_dim, device="cuda", dtype=dtype).expand(2, 4, 64, head_dim).clone().requires_grad_()
    with rapt.torch.enabled(always=True):
        out = scaled_dot_product_attention(q, k, v, dropout_p=0.5)
        assert rapt.torch.report().taken == {"forward": 1}
    (dv,) = torch.autograd.grad(out[..., :64].sum(), [v])  # by Rapt, though it is off
    kept = out[..., :64].detach()  # the matrix of probabilities
    assert 0.4 < (kept == 0).float().mean() < 0.6
    torch.testing.assert_close(dv[..., 0].float(), kept.float().sum(2), rtol=2e-2, atol=2e-2)


def test_context_parallelism_of_torch(tmp_path):
    """A ring of one process: torch's ring attention calls the flash or cuDNN operators."""
    experimental = pytest.importorskip("torch.distributed.tensor.experimental")
    torch.distributed.init_process_group("nccl", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        mesh = torch.distributed.device_mesh.init_device_mesh("cuda", (1,))
        inputs = [x.detach() for x in normal(*((1, 4, 256, 64),) * 3)]
        expected = in_float64(lambda *x: scaled_dot_product_attention(*x, is_causal=True), inputs)
        leaves = [x.clone() for x in inputs]
        with rapt.torch.enabled(always=True), sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
            with experimental.context_parallel(mesh, buffers=leaves, buffer_seq_dims=(2, 2, 2)):
                leaves = [x.detach().requires_grad_() for x in leaves]  # the shards of this process
                out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True)
                gradients = torch.autograd.grad(out.float().square().sum(), leaves)
            report = rapt.torch.report()
        assert report.taken == {"forward": 1, "backward": 1} and not report.refused
        assert_close([out.detach(), *gradients], expected, TOLERANCE[torch.bfloat16])
    finally:
        torch.distributed.destroy_process_group()


FIRST_CALL = """
import torch, rapt.torch
from torch.nn.functional import scaled_dot_product_attention
rapt.torch.enable(always=True)
q, k, v = (torch.randn(1, 2, 64, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = scaled_dot_product_attention(q, k, v)
graph.replay()
report = rapt.torch.report()
assert report.taken == {"forward": 1} and not report.refused, report
rapt.torch.disable()
torch.testing.assert_close(out, scaled_dot_product_attention(q, k, v), rtol=2e-2, atol=2e-2)
"""


def test_a_first_call_in_a_captured_graph():
    subprocess.run([sys.executable, "-c", FIRST_CALL], check=True)


def test_captured_dropout_draws_another_mask_at_each_replay():
    q, k, v = (x.detach() for x in square())
    with rapt.torch.enabled(always=True):
        scaled_dot_product_attention(q, k, v, dropout_p=0.5)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = scaled_dot_product_attention(q, k, v, dropout_p=0.5)
        assert rapt.torch.report().taken == {"forward": 2}
    graph.replay()
    first = out.clone()
    graph.replay()
    assert not torch.equal(out, first)


def test_a_call_that_no_fused_kernel_of_torch_takes():
    with rapt.torch.enabled(always=True):
        inputs = [x[0].requires_grad_() for x in (y.detach() for y in qkv(heads_k=4))]  # three dimensions
        results = run(scaled_dot_product_attention, inputs)
        assert rapt.torch.report().taken == {"forward": 1, "backward": 1}
    assert_close(results, in_float64(scaled_dot_product_attention, inputs), TOLERANCE[torch.bfloat16])


def latent(dtype):
    """MLA's decode: 128 heads of q on one of k, and the values are the first 512 elements of the keys."""
    query, key = normal((2, 128, 1, 576), (2, 1, 300, 576), dtype=dtype)
    return query, key, key[..., :512]


@DTYPES
def test_latent_attention(dtype):
    inputs = latent(dtype)
    with rapt.torch.enabled(always=True):
        out = scaled_dot_product_attention(*inputs, enable_gqa=True)
        assert rapt.torch.report().taken == {"forward": 1}
    exact = scaled_dot_product_attention(*(x.double() for x in inputs), enable_gqa=True)
    assert_close([out], [exact], TOLERANCE[dtype])


def test_a_backward_that_no_kernel_has_is_refused_before_the_forward():
    inputs = [x.detach().requires_grad_() for x in latent(torch.bfloat16)]
    with pytest.raises(NotImplementedError, match="head_dim is 576, and GPU kernels have a backward pass up to 512"):
        rapt.torch.sdpa(*inputs, enable_gqa=True)
    with rapt.torch.enabled(always=True):
        results = run(lambda *x: scaled_dot_product_attention(*x, enable_gqa=True), inputs)  # by torch
        assert not rapt.torch.report().taken
    assert all(x.isfinite().all() for x in results)


def test_a_bias_whose_backward_no_kernel_has_is_left_to_torch():
    inputs = [x.requires_grad_() for x in normal(*3 * [(1, 2, 20, 576)])]
    bias = normal((1, 2, 20, 20))[0].detach()
    with rapt.torch.enabled(always=True):
        results = run(lambda *x: scaled_dot_product_attention(*x, attn_mask=bias), inputs)
        assert not rapt.torch.report().taken
    assert all(x.isfinite().all() for x in results)


def test_what_is_left_to_torch_is_reported():
    inputs = [x.detach() for x in square()]
    with rapt.torch.enabled(), sdpa_kernel(SDPBackend.MATH):
        scaled_dot_product_attention(*inputs)
        report = rapt.torch.report()
    assert not report.taken and list(report.refused.values()) == [1] and "sdpa_kernel" in next(iter(report.refused))


def test_modules_of_torch():
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 64, dropout=0.0, batch_first=True).to("cuda", torch.bfloat16)
    (x,) = normal((3, 10, 256))
    for training in (True, False):
        layer.train(training)
        with torch.set_grad_enabled(training):
            expected = layer(x)
            with rapt.torch.enabled(always=True):
                out = layer(x)
                assert rapt.torch.report().taken["forward"] == 1
        torch.testing.assert_close(out, expected, rtol=2e-2, atol=2e-2)


# streams, threads, GPUs

two_gpus = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="PyTorch has no two CUDA devices")
CYCLES = 200_000_000  # about 0.1 s: a call that runs on another stream is over before


def test_the_current_stream_of_torch():
    values, stream = [x.detach() for x in heads_last(*square())], torch.cuda.Stream()
    expected = rapt.attention(*values, causal=True)
    late = [torch.zeros_like(x) for x in values]
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(CYCLES)
        for x, y in zip(late, values, strict=True):
            x.copy_(y)
        out = rapt.attention(*late, causal=True)
        assert not stream.query()  # the call waits for nothing
    stream.synchronize()
    assert torch.equal(out, expected)


def on_stream(device, calls):
    """[out, dq, dk, dv] of the last of several calls on a new stream of the device."""
    with torch.cuda.device(device), torch.cuda.stream(torch.cuda.Stream()):
        inputs = qkv(device=f"cuda:{device}")
        for _ in range(calls):
            results = run(FUNCTIONS["attention"], inputs)
        torch.cuda.current_stream().synchronize()
        return [x.cpu() for x in results]


def in_threads(devices, calls):
    results = [None] * len(devices)

    def work(i):
        results[i] = on_stream(devices[i], calls)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(devices))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_on_their_own_streams(deterministic):
    expected = on_stream(0, 1)
    for results in in_threads([0] * 8, 20):
        assert_same_bits(results, expected)


@two_gpus
def test_two_gpus_have_the_bits_of_one(deterministic):
    expected = on_stream(0, 1)
    for results in in_threads([0, 1, 0, 1], 50):
        assert_same_bits(results, expected)


@two_gpus
def test_tensors_of_a_gpu_that_is_not_the_current_one(deterministic):
    expected = run(FUNCTIONS["attention"], qkv(device="cuda:0"))
    results = run(FUNCTIONS["attention"], qkv(device="cuda:1"))
    assert torch.cuda.current_device() == 0 and all(x.device.index == 1 for x in results)
    assert_same_bits([x.cpu() for x in results], [x.cpu() for x in expected])
    q, k, v = (x.detach() for x in qkv())
    with pytest.raises(ValueError, match="k is on cuda:1"):
        rapt.attention(*heads_last(q, k.to("cuda:1"), v))


# CuPy, JAX

RNG = np.random.default_rng(11)
Q, K, V = (RNG.standard_normal((2, n, heads, 64)).astype(np.float16) for n, heads in ((33, 4), (65, 2), (65, 2)))


def check(out):
    exact, _, limit = forward(Q, K, V, causal=True)
    assert_within_rule("out", out, exact, rapt.attention(Q, K, V, causal=True, backend="math"), limit)


def test_cupy():
    cupy = pytest.importorskip("cupy")
    arrays = [cupy.asarray(x) for x in (Q, K, V)]
    out, lse = rapt.attention(*arrays, causal=True, return_lse=True)
    gradients = rapt.attention_backward(out, *arrays, out, lse, causal=True)
    assert all(isinstance(x, cupy.ndarray) for x in (out, lse, *gradients[:3]))
    check(out.get())
    expected = rapt.attention_backward(out.get(), Q, K, V, out.get(), lse.get(), causal=True)
    for x, y in zip(gradients[:3], expected[:3], strict=True):
        np.testing.assert_allclose(x.get().astype(np.float32), y.astype(np.float32), rtol=2e-2, atol=2e-2)

    late, result = [cupy.zeros_like(x) for x in arrays], cupy.zeros_like(out)
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
            torch.cuda._sleep(CYCLES)
        for x, y in zip(late, arrays, strict=True):
            x[...] = y
        rapt.attention(*late, out=result, causal=True)
        assert not stream.done  # the call waits for nothing
        stream.synchronize()
    assert (result == out).all()


def test_jax():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    q, k, v = (jax.device_put(x) for x in (Q, K, V))
    out, lse = rapt.attention(q, k, v, causal=True, return_lse=True)
    assert isinstance(out, jax.Array) and out.devices() == q.devices() and lse.dtype == np.float32
    check(np.asarray(out))
    gradients = rapt.attention_backward(out, q, k, v, out, lse, causal=True)
    arrays = [np.asarray(x) for x in (out, q, k, v, out, lse)]
    for x, y in zip(gradients[:3], rapt.attention_backward(*arrays, causal=True)[:3], strict=True):
        assert isinstance(x, jax.Array)
        np.testing.assert_allclose(np.asarray(x, np.float32), y.astype(np.float32), rtol=2e-2, atol=2e-2)
    bf16 = rapt.attention(*(x.astype(jax.numpy.bfloat16) for x in (q, k, v)), causal=True)
    assert bf16.dtype == jax.numpy.bfloat16
    np.testing.assert_allclose(np.asarray(bf16, np.float32), np.asarray(out, np.float32), rtol=3e-2, atol=3e-2)


# flash_attn


def test_an_int_beyond_a_cache_is_refused_without_reading_the_device():
    import rapt.flash_attn

    q, cache = normal((1, 1, 2, 64), (1, 32, 2, 64))
    with pytest.raises(RuntimeError, match="cache_seqlens is 33"):
        rapt.flash_attn.flash_attn_with_kvcache(q, cache, cache.clone(), cache_seqlens=33)


def test_doctor_and_explain():
    assert "cuda:0" in rapt.doctor()
    assert rapt.explain(*heads_last(*(x.detach() for x in qkv()))).chosen.backend == "cuda"
