// Runs of a kernel of the backward pass. If a result of the first one is Inf or NaN, the workgroup runs again:
//
//   finite   Inf and NaN in Q and dO, or in K, count as 0 in the last products, where they meet zeros of dS and P in
//            rows and keys that must not see them; logits of -Inf are excluded everywhere
//   scaled   up to three, only where operands are fp16, in which a gradient of a logit above 65,504 is Inf: P, and with
//            it dS, is e^-5.5, e^-11, e^-22 of what it is, and the results replace those that are still not finite.
//            Three, because what is small in dS is lost where it is scaled too far.
//
// What rows of dO with Inf or NaN add to dV comes last (infinite_rows.hpp).
#pragma once

#include "kernels/common/not_finite.hpp"

namespace rapt::RAPT_VENDOR {

enum Run { kFirstRun, kFiniteRun, kScaledRun, kRunsOfFp16 = kScaledRun + 3 };

// How many there may be. gfx90a's kernels scale every fp16 operand (amd/tile/small_operands.hpp).
template <class T>
inline constexpr int kRuns = kScaledRun;
#ifndef __gfx90a__
template <>
inline constexpr int kRuns<fp16> = kRunsOfFp16;
#endif

template <class T>
DEVICE bool is_scaled(int run) {
  return kRuns<T> > kScaledRun && run >= kScaledRun;
}

// What Q, dO and K are in the last products.
DEVICE int pass_of(int run) { return run == kFirstRun ? kAll : kFinite; }

// What is added to each lse, and the factor of the results. Powers of e, not of two: a float32 lse plus 5.5 is as exact
// as the lse.
template <class T>
DEVICE float added_to_lse(int run) {
  if (!is_scaled<T>(run)) return 0;
  return run == kScaledRun ? 5.5f : run == kScaledRun + 1 ? 11 : 22;
}
template <class T>
DEVICE float unscaled(int run) {
  if (!is_scaled<T>(run)) return 1;
  return run == kScaledRun ? 244.69193226f : run == kScaledRun + 1 ? 59874.141715f : 3584912846.1f;
}

}  // namespace rapt::RAPT_VENDOR
