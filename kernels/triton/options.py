"""What options do to the logits of a tile, in both passes: kernels/common/scores.hpp for Triton's kernels. Logits are
natural, because a bias of the lowest float32 would overflow in the log2 domain."""

from collections import namedtuple

import triton
import triton.language as tl
from gradients import LOG2E
from nvidia_tiles import unknown_zero

EXCLUDED = tl.constexpr(float("-inf"))
Options = namedtuple("Options", "factor softcap of_softcap has_slope has_bias has_mask unit domain")


@triton.jit
def options_of(p):
    """What all heads' logits are computed with. unit: that of the forward pass's logits, in log2. domain: a backward
    pass's lse is so many times natural."""
    factor = tl.where(p.softcap > 0, p.softcap, p.scale)
    has_slope = p.alibi.data.to(tl.int64) != 0
    has_bias = p.bias.data.to(tl.int64) != 0
    return Options(
        factor, p.softcap, p.scale / p.softcap, has_slope, has_bias, p.mask.data.to(tl.int64) != 0,
        LOG2E * tl.where(has_bias | has_slope, 1.0, factor), tl.where(has_bias, 1.0, LOG2E),
    )  # fmt: skip


@triton.jit
def slope_of(p, batch, head):
    """ALiBi's, 0 without."""
    at = p.alibi.data + (batch.to(tl.int64) * p.alibi.batch + head.to(tl.int64) * p.alibi.head) // 4
    return tl.load(at, mask=p.alibi.data.to(tl.int64) != 0, other=0)


@triton.jit
def reciprocal(x):
    asm: tl.constexpr = "rcp.approx.ftz.f32 $0, $1;"
    return tl.inline_asm_elementwise(asm, "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def tanh(x):
    """A quotient of polynomials, whose own error is 2.1e-8 of tanh; beyond 9.02 tanh is 1 in float32."""
    clamped: tl.constexpr = "min.NaN.xorsign.abs.f32 $0, $1, 0f411051EC;"  # to 9.02, with the sign of x
    x = tl.inline_asm_elementwise(clamped, "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    square = x * x
    above = square * 1.33190768e-08 + 2.05834991e-05
    above = square * above + 3.49403635e-03
    above = square * above + 1.33797197e-01
    above = square * above + 9.99999979e-01
    below = square * 7.76202557e-07 + 3.28309525e-04
    below = square * below + 2.58710808e-02
    below = square * below + 4.67130350e-01
    below = square * below + 1.0
    return x * above * reciprocal(below)


@triton.jit
def rough_tanh(twice_x):
    """Wrong by up to 2.4e-7, also near 0. twice_x is in log2."""
    return 1 - 2 * reciprocal(tl.exp2(twice_x) + 1)


@triton.jit
def capped(o, s):
    """The products q k as softcap leaves them, to be multiplied by o.factor."""
    if o.softcap > 0:
        s = tanh(s * o.of_softcap)
    return s


@triton.jit
def capped_too(o, s, gradient):
    """The same, and softcap's derivative as a factor of the gradient. P and its gradient are rounded to 16 bits, where
    up to kTritonMostSoftcap (kernels/archive_format.hpp) times the error of a rough tanh is lost."""
    if o.softcap > 0:
        s = rough_tanh(s * (o.of_softcap * (2 * LOG2E)))
        gradient *= 1 - s * s
    return s, gradient


@triton.jit
def with_alibi(o, s, slope, distance, columns):
    """Keys are distance + columns from the queries."""
    if o.has_slope:
        across = (columns + unknown_zero()).to(tl.float32)
        s -= slope * tl.abs(distance.to(tl.float32) + across)
    return s
