// Inf and NaN in V. A tile's product with V includes every key for every query, with probability 0 if the query does
// not attend it. But 0 times Inf or NaN is NaN, which would reach rows that must not see that key. So a workgroup that
// finds an Inf or NaN in its result runs over its keys again.
//
//   finite   Inf and NaN in V count as 0, which leaves O of finite values
//   above    the weight of keys with +Inf or NaN: where it is not 0, +Inf is added to the result
//   below    the same for -Inf and NaN; where both were added, the result is NaN
//   dropped  only with dropout: the weight, before dropout, of dropped keys with Inf or NaN; where it is not 0, the
//            result is NaN, as 0 times Inf is
#pragma once

#include "kernels/common/isa.hpp"

namespace rapt::RAPT_VENDOR {

enum Pass { kAll, kFinite, kAbove, kBelow, kDropped, kPasses };

// The number after the last pass that a kernel may need.
template <bool General>
DEVICE int passes(const Problem& p) {
  return General && p.keep_threshold < 65536 ? kPasses : kDropped;
}

// Whether dropout zeroes probabilities in a pass.
DEVICE bool drops(int pass) { return pass < kAbove || pass == kDropped; }

DEVICE bool is_finite(float x) { return __builtin_fabsf(x) < __builtin_inff(); }
DEVICE bool is_infinite(float x) { return __builtin_fabsf(x) == __builtin_inff(); }

// What replaces an element of V in a pass after the first. `Dropout`: the kernel may have a pass kDropped.
template <bool Dropout = true>
DEVICE float replaced(int pass, float x) {
  const bool nan = x != x, infinite = is_infinite(x);
  if (pass == kFinite) return nan || infinite ? 0 : x;
  if (Dropout && pass == kDropped) return nan || infinite ? 1 : 0;
  return nan || (infinite && (x > 0) == (pass == kAbove)) ? 1 : 0;
}

// What is added to results in a pass after `finite`.
template <bool Dropout = true>
DEVICE float added(int pass) {
  if (Dropout && pass == kDropped) return __builtin_nanf("");
  return pass == kAbove ? __builtin_inff() : -__builtin_inff();
}

// The factor of logits before exp2. In passes where only the presence of keys matters, a tiny factor makes all weights
// nearly equal, so that none underflows.
DEVICE float exponent_scale(int pass, float scale_log2) { return pass >= kAbove ? 0x1p-20f : scale_log2; }

}  // namespace rapt::RAPT_VENDOR
