// Runs of a kernel of the backward pass. If a result of the first one is Inf or NaN, the workgroup runs again:
//
//   finite   Inf and NaN in Q and dO, or in K, count as 0 in the last products, where they meet zeros of dS and P in
//            rows and keys that must not see them; logits of -Inf are excluded everywhere
//   scaled   only where operands are fp16, in which a gradient of a logit above 65,504 is Inf: P, and with it dS, is
//            e^-16 of what it is, and the results replace those that are still not finite
//
// What rows of dO with Inf or NaN add to dV comes last (infinite_rows.hpp).
#pragma once

#include "kernels/common/not_finite.hpp"

namespace rapt::RAPT_VENDOR {

enum Run { kFirstRun, kFiniteRun, kScaledRun };

// How many there may be. gfx90a's kernels scale every fp16 operand (amd/tile/small_operands.hpp).
template <class T>
inline constexpr int kRuns = 2;
#ifndef __gfx90a__
template <>
inline constexpr int kRuns<fp16> = 3;
#endif

template <class T>
DEVICE bool is_scaled(int run) {
  return kRuns<T> == 3 && run == kScaledRun;
}

// What Q, dO and K are in the last products.
DEVICE int pass_of(int run) { return run == kFirstRun ? kAll : kFinite; }

// What is added to each lse, and the factor of the results. e^-16 and not a power of two: a float32 lse plus 16 is as
// exact as the lse.
template <class T>
DEVICE float added_to_lse(int run) {
  return is_scaled<T>(run) ? 16 : 0;
}
template <class T>
DEVICE float unscaled(int run) {
  return is_scaled<T>(run) ? 8886110.520507872f : 1;
}

}  // namespace rapt::RAPT_VENDOR
