"""The cost of a call from Python above the C call, on a problem whose computation takes almost no time.

python -m rapt.bench.overhead
"""

import time

import numpy

import rapt
from rapt import _core

_BATCHES, _CALLS = 50, 400


def seconds(call, batches, calls):
    """Seconds per call: the smallest mean of a batch, because other work on the machine slows some batches."""
    best = float("inf")
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def measure():
    """[(name, seconds of a call, seconds above the C call)] of a forward of one query, one head, head_dim 8."""
    q = numpy.ones((1, 1, 1, 8), numpy.float32)
    out = numpy.empty_like(q)
    calls = {
        "rapt.attention, NumPy": lambda: rapt.attention(q, q, q),
        "rapt.attention, NumPy, out and options given": lambda: rapt.attention(
            q, q, q, out=out, causal=True, softmax_scale=0.5
        ),
        "rapt._core.forward, NumPy": lambda: _core.forward(q, q, q, out),
    }
    try:
        import torch
    except ImportError:
        pass
    else:
        tensor, result = torch.ones(1, 1, 1, 8), torch.empty(1, 1, 1, 8)
        calls |= {
            "rapt.attention, PyTorch": lambda: rapt.attention(tensor, tensor, tensor),
            "rapt.attention, PyTorch, with lse": lambda: rapt.attention(tensor, tensor, tensor, return_lse=True),
            "rapt._core.forward, PyTorch": lambda: _core.forward(tensor, tensor, tensor, result),
        }
    _core.time_forward(q, q, q, out, _CALLS)
    plain = min(_core.time_forward(q, q, q, out, _CALLS) for _ in range(_BATCHES))
    rows = [("the C call", plain, 0.0)]
    for name, call in calls.items():
        call()
        total = seconds(call, _BATCHES, _CALLS)
        rows.append((name, total, total - plain))
    return rows


def main():
    print(rapt.explain("b1 hq1 hk1 sq1 sk1 d8 fp32").chosen)
    for name, total, above in measure():
        print(f"{name:<46} {total * 1e6:6.2f} us, {above * 1e6:6.2f} us above the C call")


if __name__ == "__main__":
    main()
