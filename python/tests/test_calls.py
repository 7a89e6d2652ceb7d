"""How calls behave: errors, threads, the GIL, forks, explanations."""

import multiprocessing
import sys
import threading
import time

import numpy as np
import pytest
import rapt
import torch

Q = np.random.default_rng(7).standard_normal((2, 6, 4, 8)).astype(np.float32)
READ_ONLY = Q.copy()
READ_ONLY.flags.writeable = False
BAD = [
    (TypeError, "q must be a tensor.*int", {"q": 3}),
    (TypeError, "v must be a tensor.*NoneType", {"v": None}),
    (TypeError, "mask must be a tensor.*list", {"mask": [[True]]}),
    (TypeError, "no option 'is_causal'", {"is_causal": True}),
    (ValueError, "q has 2 dimensions", {"q": Q[0, :, :, 0]}),
    (ValueError, r"q has the shape \(6, 4\)", {"q": Q[0, :, :, 0], "out": None}),
    (ValueError, "k has 3 dimensions", {"k": Q[0]}),
    (ValueError, "k is fp16, must be fp32", {"k": Q.astype(np.float16)}),
    (ValueError, "q has elements of format 'Zf'", {"q": Q.astype(np.complex64)}),
    (ValueError, "bias has 5 dimensions", {"bias": Q[None]}),
    (ValueError, "causal must be .*'top-left'; it is 'left'", {"causal": "left"}),
    (ValueError, "causal must be .*; it is 1", {"causal": 1}),
    (ValueError, r"window must be a pair .*; it is \(1,\)", {"window": (1,)}),
    (ValueError, "window is -3,1", {"window": (-3, 1)}),
    (ValueError, "softcap must be a number; it is 'much'", {"softcap": "much"}),
    (ValueError, "softcap", {"softcap": float("nan")}),
    (ValueError, "softmax_scale", {"softmax_scale": float("inf")}),
    (ValueError, "dropout", {"dropout": 1.0, "dropout_seed": 1}),
    (ValueError, "dropout_seed must be given", {"dropout": 0.5}),
    (
        ValueError,
        r"dropout_seed must be an integer from 0 to 2\^64 - 1; it is -1",
        {"dropout": 0.5, "dropout_seed": -1},
    ),
    (ValueError, "num_threads must be at least 1; it is 0", {"num_threads": 0}),
    (ValueError, "deterministic must be True or False", {"deterministic": Q}),
    (ValueError, "out is read-only", {"out": READ_ONLY}),
    (ValueError, "out", {"out": Q}),  # overlaps q
    (ValueError, "workspace", {"workspace": Q}),
    (ValueError, "q is a tensor that cannot be taken", {"q": torch.zeros(2, 6, 4, 8).to_sparse()}),
    (ValueError, "requires grad.*rapt.torch", {"q": torch.from_numpy(Q).requires_grad_()}),
]


@pytest.mark.parametrize("error, message, arguments", BAD, ids=[b[1][:40] for b in BAD])
def test_bad_arguments_are_named_before_anything_is_written(error, message, arguments):
    out = np.full_like(Q, 7)
    with pytest.raises(error, match=message):
        rapt.attention(**{"q": Q, "k": Q.copy(), "v": Q.copy(), "out": out} | arguments)
    assert (out == 7).all()


def test_bad_arguments_of_the_backward():
    out, lse = rapt.attention(Q, Q, Q, return_lse=True)
    with pytest.raises(ValueError, match=r"wrt has \['w'\]"):
        rapt.attention_backward(out, Q, Q, Q, out, lse, wrt=("q", "w"))
    with pytest.raises(ValueError, match="lse"):
        rapt.attention_backward(out, Q, Q, Q, out, lse[0])
    with pytest.raises(ValueError, match="dq"):
        rapt.attention_backward(out, Q, Q, Q, out, lse, dq=np.empty((1, 1, 1, 8), np.float32))


def test_the_gil_is_released():
    """With an endless switch interval, another thread runs only when this one releases the GIL."""
    q = np.random.default_rng(8).standard_normal((1, 2000, 8, 64)).astype(np.float32)
    counts = [0]
    seen = []

    def call():
        seen.append(counts[0])
        rapt.attention(q, q, q, num_threads=1)
        seen.append(counts[0])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=call)
        thread.start()
        while len(seen) < 2:
            counts[0] += 1
            time.sleep(0.0001)
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert seen[1] > seen[0]


def test_calls_from_many_threads():
    rng = np.random.default_rng(9)
    inputs = [rng.standard_normal((1, 100 + n, 2, 32)).astype(np.float32) for n in range(8)]
    expected = [rapt.attention(x, x, x) for x in inputs]
    wrong = []

    def work(n):
        for _ in range(20):
            if (rapt.attention(inputs[n], inputs[n], inputs[n], num_threads=2) != expected[n]).any():
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def _in_child(queue, threads):
    q = np.ones((1, 200, 4, 64), np.float32)
    queue.put(rapt.attention(q, q, q, num_threads=threads).sum())


@pytest.mark.parametrize("threads", [None, 2])
def test_a_forked_child_computes(threads):
    """Like a DataLoader's worker, which has none of the parent's threads."""
    q = np.ones((1, 200, 4, 64), np.float32)
    rapt.attention(q, q, q, num_threads=threads)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue, threads))
    child.start()
    assert queue.get(timeout=60) == q.size
    child.join(timeout=60)
    assert child.exitcode == 0


def test_explain():
    of_tensors = rapt.explain(Q, Q, Q, causal=True)
    assert of_tensors.problem == "b2 hq4 hk4 sq6 sk6 d8 fp32 causal"
    assert of_tensors.chosen.backend == "cpu" and of_tensors.chosen.kernel
    assert {c.backend for c in of_tensors.candidates} >= {"cpu", "math", "hip"}
    assert all(c.reason for c in of_tensors.candidates)
    assert of_tensors.chosen.kernel in str(of_tensors)
    of_text = rapt.explain("b2 hq4 hk4 sq6 sk6 d8 fp32 causal")
    assert of_text == of_tensors

    backward = rapt.explain(Q, Q, Q, causal=True, op="backward", num_threads=1)
    assert "bwd" in backward.chosen.kernel
    assert rapt.explain(backward.problem, op="backward").chosen == backward.chosen
    bias = np.zeros((1, 4, 6, 6), np.float32)
    of_bias = rapt.explain(Q, Q, Q, op="backward", bias=bias).problem
    assert of_bias.endswith("fp32 bias=b1hN grads=dq,dk,dv,dbias align=8")
    assert rapt.explain("b1 hq1 hk1 sq9999 sk9999 d64 fp64").chosen is None
    assert rapt.explain("b1 hq1 hk1 sq9999 sk9999 d64 fp64", allow_math=True).chosen.backend == "math"
    assert rapt.explain(Q, Q, Q, backend="cpu.portable").chosen.backend == "cpu.portable"
    for error, message, call in [
        (ValueError, "column", lambda: rapt.explain("b2 hq4 hk4 sq6 sk6 d8 fp33")),
        (ValueError, "op must be 'forward' or 'backward'", lambda: rapt.explain(Q, Q, Q, op="both")),
        (ValueError, "device must be .* it is 'gpu'", lambda: rapt.explain(of_tensors.problem, device="gpu")),
        (TypeError, "no option 'causal'", lambda: rapt.explain(of_tensors.problem, causal=True)),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_doctor():
    text = rapt.doctor()
    assert f"rapt {rapt.__version__}" in text and f"torch {torch.__version__}" in text
    assert all(library in text for library in ("HIP", "CUDA"))
    assert "portable" in text and " used" in text and "kernel archives" in text


@pytest.mark.parametrize("name", ["dout", "q", "k", "v", "out", "lse"])
def test_a_tensor_that_the_backward_lacks_is_named(name):
    x, lse = np.zeros((1, 4, 2, 8), np.float32), np.zeros((1, 2, 4), np.float32)
    tensors = dict.fromkeys(("dout", "q", "k", "v", "out"), x) | {"lse": lse, name: None}
    with pytest.raises(TypeError, match=f"^{name} must be a tensor.*NoneType"):
        rapt.attention_backward(*tensors.values())
