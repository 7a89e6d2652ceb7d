"""What the operators cost beside the computation: `python -m rapt.torch.overhead` prints it."""

import time
from collections.abc import Callable

import torch

from rapt import _core
from rapt.torch.operators import attention

_CALLS, _SAMPLES = 200, 50


def overhead() -> dict[str, float]:
    """Microseconds a call on a tiny CPU problem (b1 hq1 hk1 sq1 sk1 d16 fp32), without those of the C library's call.

    "forward": without grad; "forward, autograd": with a graph recorded; "forward, backward": both, and run by
    torch.autograd.grad. One thread; the median of samples, of which ours and the library's alternate.
    """
    q, k, v = (torch.randn(1, 1, 1, 16) for _ in range(3))
    out, lse, dout = torch.empty_like(q), torch.empty(1, 1, 1), torch.ones_like(q)
    gradients = [torch.empty_like(x) for x in (q, k, v)]
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]

    def library_forward():
        _core.forward(q, k, v, out, lse, num_threads=1)

    def library_both():
        library_forward()
        _core.backward(q, k, v, out, lse, dout, *gradients, num_threads=1)

    pairs = {
        "forward": (lambda: attention(q, k, v), library_forward),
        "forward, autograd": (lambda: attention(*leaves), library_forward),
        "forward, backward": (lambda: torch.autograd.grad(attention(*leaves)[0], leaves, dout), library_both),
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return {name: _difference(*pair) for name, pair in pairs.items()}
    finally:
        torch.set_num_threads(threads)


def _difference(ours: Callable, library: Callable) -> float:
    samples = [(_sample(ours), _sample(library)) for _ in range(_SAMPLES)]
    mine, base = (sorted(each)[_SAMPLES // 2] for each in zip(*samples, strict=True))
    return mine - base


def _sample(function: Callable) -> float:
    """Microseconds a call of this thread's own time: that of others on the machine does not count."""
    start = time.thread_time()
    for _ in range(_CALLS):
        function()
    return (time.thread_time() - start) / _CALLS * 1e6


if __name__ == "__main__":
    for name, microseconds in overhead().items():
        print(f"{name:<18} {microseconds:6.1f} us above the library's call")
