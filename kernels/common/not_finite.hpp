// Inf and NaN in V. A tile's product with V includes every key for every query, with probability 0 if the query does
// not attend it; but 0 times Inf or NaN is NaN, which would reach rows that must not see that key. So a workgroup that
// finds an Inf or NaN in its result runs over its keys again:
//
//   finite   Inf and NaN in V count as 0: O of the other keys
//   above    the weight of keys with +Inf or NaN: where it is not 0, +Inf is added to the result
//   below    the same for -Inf and NaN; where both were added, the result is NaN
#pragma once

#include "kernels/common/isa.hpp"

namespace rapt::RAPT_VENDOR {

enum Pass { kAll, kFinite, kAbove, kBelow, kPasses };

DEVICE bool is_infinite(float x) { return __builtin_fabsf(x) == __builtin_inff(); }

// What replaces an element of V in a pass after the first.
DEVICE float replaced(int pass, float x) {
  const bool nan = x != x, infinite = is_infinite(x);
  if (pass == kFinite) return nan || infinite ? 0 : x;
  return nan || (infinite && (x > 0) == (pass == kAbove)) ? 1 : 0;
}

// The factor of logits before exp2. In passes where only the presence of keys matters, a tiny factor makes all weights
// nearly equal, so that none underflows.
DEVICE float exponent_scale(int pass, float scale_log2) { return pass >= kAbove ? 0x1p-20f : scale_log2; }

}  // namespace rapt::RAPT_VENDOR
