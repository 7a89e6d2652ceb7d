"""The operator's overhead, measured on a problem whose computation takes almost no time.

python -m rapt.torch.overhead
"""

import torch
from torch.nn.functional import scaled_dot_product_attention

from rapt import _core
from rapt.bench.overhead import seconds
from rapt.torch.operators import operator
from rapt.torch.sdpa import sdpa

_BATCHES, _CALLS = 300, 20


def measure() -> list[tuple[str, float, float | None]]:
    """[(name, seconds of a call, seconds above the C calls)] of b1 hq1 hk1 sq1 sk1 d8 fp32 on one thread.

    torch's own attention is there for comparison, with None.
    """
    q, k, v = (torch.ones(1, 1, 1, 8) for _ in range(3))
    out, lse, dout = torch.empty_like(q), torch.empty(1, 1, 1), torch.ones_like(q)
    gradients = [torch.empty_like(x) for x in (q, k, v)]
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        forward = min(_core.time_forward(q, k, v, out, _CALLS) for _ in range(_BATCHES))
        # The C call of a backward is not timed separately: this includes about 2 us of Python.
        backward = seconds(lambda: _core.backward(q, k, v, out, lse, dout, *gradients, num_threads=1), _BATCHES, _CALLS)
        calls = {
            "torch.ops.rapt.attention": (lambda: operator(q, k, v), forward),
            "torch.ops.rapt.attention, autograd": (lambda: operator(*leaves), forward),
            "rapt.torch.sdpa, autograd": (lambda: sdpa(*leaves), forward),
            "rapt.torch.sdpa, autograd, backward": (
                lambda: torch.autograd.grad(sdpa(*leaves), leaves, dout),
                forward + backward,
            ),
            "F.scaled_dot_product_attention, autograd": (lambda: scaled_dot_product_attention(*leaves), None),
            "F.scaled_dot_product_attention, autograd, backward": (
                lambda: torch.autograd.grad(scaled_dot_product_attention(*leaves), leaves, dout),
                None,
            ),
        }
        rows = [(name, seconds(call, _BATCHES, _CALLS), plain) for name, (call, plain) in calls.items()]
        return [(name, total, None if plain is None else total - plain) for name, total, plain in rows]
    finally:
        torch.set_num_threads(threads)


def main():
    for name, total, above in measure():
        print(f"{name:<52} {total * 1e6:7.2f} us", "" if above is None else f"{above * 1e6:7.2f} us above the C call")


if __name__ == "__main__":
    main()
