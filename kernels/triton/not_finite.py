"""What workgroups do again whose result has an Inf or NaN: kernels/common/not_finite.hpp in Triton. A product with a
tile has every pair of a query and a key, and 0 times Inf is NaN also where they do not attend each other. Passes, in
this order, each of one result:

  LARGE   fp16 only: dk or dq of the gradients of logits that fp16 has not, scaled
  REST    dk or dq of the others, added to it; Inf and NaN in Q or K count as 0
  FINITE  O or dv; Inf and NaN in V or dO count as 0
  ABOVE   a number that is not 0 where V or dO has +Inf or NaN in an attended pair: +Inf is added to the result
  BELOW   the same for -Inf; where both were added, the result is NaN
"""

import triton
import triton.language as tl

LARGE, REST, FINITE, ABOVE, BELOW, END = [tl.constexpr(turn) for turn in range(-1, 5)]
LARGEST = tl.constexpr(65504.0)  # of fp16
UNIT = tl.constexpr(2.0**26)  # of a sum in LARGE


@triton.constexpr_function
def first_turn(dtype):
    return LARGE if dtype.is_fp16() else REST


@triton.jit
def replaced(x, turn):
    """The operand that may have Inf and NaN, in FINITE, ABOVE or BELOW."""
    wide = x.to(tl.float32)
    other = wide - wide != 0
    counts = other & ((wide != wide) | ((wide > 0) == (turn == ABOVE)))
    return tl.where(turn == FINITE, tl.where(other, 0.0, wide), counts.to(tl.float32)).to(x.dtype)


@triton.jit
def in_range(ds, turn, DTYPE: tl.constexpr):
    """The gradients of logits that a pass sums, as DTYPE has them."""
    if DTYPE.is_fp16():
        ds = tl.where((tl.abs(ds) > LARGEST) == (turn == LARGE), tl.where(turn == LARGE, ds / UNIT, ds), 0.0)
    return ds


@triton.jit
def begun(sums, turn):
    """What a pass adds to: the sums of LARGE in REST, else zeros."""
    return tl.where(turn == REST, sums * UNIT, 0.0)


@triton.jit
def infinity(turn):
    """Which one ABOVE and BELOW add."""
    return tl.where(turn == ABOVE, float("inf"), float("-inf"))
