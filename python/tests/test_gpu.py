"""GPU tensors, on the simulator: `make python` sets RAPT_HIP_LIBRARY and RAPT_KERNEL_PATH."""

import ctypes
import os
import sys
import types
from ctypes import byref, c_void_p

import numpy as np
import pytest
import rapt
from device_array import CAPSULE, CupyArray, DeviceArray, Managed, TableArray, capsule_pointer, hip
from reference import assert_within_rule, forward

pytestmark = pytest.mark.skipif("RAPT_HIP_LIBRARY" not in os.environ, reason="RAPT_HIP_LIBRARY names no HIP")

RNG = np.random.default_rng(13)
Q, K, V = (RNG.standard_normal((1, seqlen, heads, 64)).astype(np.float32) for seqlen, heads in ((5, 2), (9, 1), (9, 1)))


def check(out):
    plain = rapt.attention(Q, K, V, causal=True, backend="math")
    exact, _, limit = forward(Q, K, V, causal=True)
    assert_within_rule("out", out, exact, plain, limit)


def arrays(kind):
    return [kind(x) for x in (Q, K, V, np.full_like(Q, np.nan))]


def captured(stream, call):
    """Records the call's work on `stream` instead of doing it; gives a function that does it."""
    graph, executable = c_void_p(), c_void_p()
    hip("hipStreamBeginCapture", stream, 1)  # other threads' streams go on
    call()
    hip("hipStreamEndCapture", stream, byref(graph))
    hip("hipGraphInstantiate", byref(executable), graph, None, None, ctypes.c_size_t(0))

    def launch():
        hip("hipGraphLaunch", executable, stream)
        hip("hipStreamSynchronize", stream)

    return launch


@pytest.fixture
def stream():
    stream = c_void_p()
    hip("hipStreamCreate", byref(stream))
    q, k, v, out = arrays(DeviceArray)
    rapt.attention(q, k, v, out=out, causal=True)  # loads the kernel, which a capture must not
    yield stream
    hip("hipStreamDestroy", stream)


def test_a_library_that_has_no_stream():
    q, k, v, out = arrays(DeviceArray)
    assert rapt.attention(q, k, v, out=out, causal=True) is out
    check(out.numpy())
    assert set(q.asked + k.asked + v.asked + out.asked) == {0}


def test_memory_for_results_is_on_the_device():
    q, k, v, _ = arrays(DeviceArray)
    out = rapt.attention(q, k, v, causal=True)
    assert out.__dlpack_device__() == (10, 0)
    capsule = out.__dlpack__()
    tensor = Managed.from_address(capsule_pointer(capsule, CAPSULE)).tensor
    host = np.empty_like(Q)
    assert tuple(tensor.shape[: tensor.ndim]) == Q.shape
    hip("hipMemcpy", c_void_p(host.ctypes.data), c_void_p(tensor.data), ctypes.c_size_t(host.nbytes), 2)
    check(host)


@pytest.mark.parametrize("kind", [DeviceArray, CupyArray, TableArray])
def test_the_stream_that_runs(kind, stream, monkeypatch):
    """Work captured on a stream waits for a launch: so the call went to that stream, and waited for no work."""
    options = {}
    if kind is DeviceArray:
        options["stream"] = stream.value
    elif kind is CupyArray:
        current = types.SimpleNamespace(ptr=stream.value)
        cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(get_current_stream=lambda: current))
        monkeypatch.setitem(sys.modules, "cupy", cupy)
    else:
        monkeypatch.setattr(TableArray, "stream", stream.value)
    q, k, v, out = arrays(kind)
    launch = captured(stream, lambda: rapt.attention(q, k, v, out=out, causal=True, **options))
    assert np.isnan(out.numpy()).all()
    launch()
    check(out.numpy())
    if kind is not TableArray:
        assert set(q.asked) == {stream.value}


def test_explain_and_doctor_know_the_gpu():
    q, k, v, _ = arrays(DeviceArray)
    explanation = rapt.explain(q, k, v, causal=True)
    assert explanation.chosen.backend == "hip"
    assert rapt.explain(explanation.problem, device="hip:0").chosen.kernel == explanation.chosen.kernel
    assert "hip:0" in rapt.doctor()


def test_tensors_of_two_places():
    q, k, v, out = arrays(DeviceArray)
    with pytest.raises(ValueError, match="k "):
        rapt.attention(q, K, v, out=out)
