"""Online softmax of a tile of rows: kernels/common/softmax.hpp in Triton, in the log2 domain."""

import triton
import triton.language as tl
from triton.language.target_info import is_hip

LOWEST = tl.constexpr(-3.4028234663852886e38)
LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def rounded(p, DTYPE: tl.constexpr):
    """P, or its gradient, for the next product. gfx942 has no instruction that rounds to bf16. Adding half of the last
    place to the bits (nearest, ties away from zero) takes half as long as the compiler's own rounding. NaN stays,
    because a NaN of exp2 or of a product has no low bits."""
    if is_hip() and DTYPE.is_bf16():
        bits = (p.to(tl.uint32, bitcast=True) + 0x8000) >> 16
        return bits.to(tl.uint16).to(DTYPE, bitcast=True)
    else:
        return p.to(DTYPE)


@triton.jit
def added(p, factor, total, rest):
    """The rows' sums with a tile's P, and their rounding errors in `rest` (Fast2Sum)."""
    before = total * factor
    of_tile = tl.sum(p, 1)
    total = before + of_tile
    return total, rest * factor + (of_tile - (total - before))


@triton.jit
def step(s, scale_log2, reference, total, rest, P_EXPONENT: tl.constexpr):
    """One tile of keys: P, and the factor of what was summed before. P is at most 2^P_EXPONENT, which keeps fp16's out
    of the range of denormals."""
    following = tl.maximum(reference, tl.max(s, 1) * scale_log2 - P_EXPONENT)
    factor = tl.exp2(reference - following)
    p = tl.exp2(s * scale_log2 - following[:, None])
    total, rest = added(p, factor, total, rest)
    return p, factor, following, total, rest


@triton.jit
def inverse(total):
    """The factor of O: 0 for a row with no keys; NaN stays."""
    return tl.where(total > 0, 1 / total, total)
