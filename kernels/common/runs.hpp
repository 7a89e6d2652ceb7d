// Runs of a kernel of the backward pass. If a result of the first run is Inf or NaN, the workgroup runs again.
//
//   finite   Inf and NaN in Q and dO, or in K, count as 0 in the last products: there they meet zeros of dS and P in
//            rows and keys that must not see them. Logits of -Inf are excluded everywhere
//
//   scaled   up to three runs, only for fp16 operands, where a logit's gradient above 65,504 is Inf. P, and with it dS,
//            is scaled by e^-5.5, e^-11 and e^-22, and replaces results that are not finite yet. There are three
//            because small values of dS are lost if scaled too far.
//
// Contributions to dV of rows of dO with Inf or NaN come last (infinite_rows.hpp).
#pragma once

#include "kernels/common/not_finite.hpp"

namespace rapt::RAPT_VENDOR {

enum Run { kFirstRun, kFiniteRun, kScaledRun, kRunsOfFp16 = kScaledRun + 3 };

// The most runs. gfx90a's kernels scale every fp16 operand (amd/tile/products.hpp).
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

// How Q, dO and K count in the last products.
DEVICE int pass_of(int run) { return run == kFirstRun ? kAll : kFinite; }

// The number that is added to each lse, and the factor of the results. Powers of e, not of two: a float32 lse plus 5.5
// is as exact as the lse.
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
