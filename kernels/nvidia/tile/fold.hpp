// Results over disjoint keys of the same row are folded one by one, in the order of the keys. The split kernel and
// split_combine fold the same sums in the same order, so they have the same bits.
//
// Splits are folded into a part of kSplitsOfPart, parts into the row's result: a merging kernel has its parts at once.
#pragma once

#include "kernels/common/softmax.hpp"
#include "kernels/nvidia/isa/arguments.hpp"

namespace rapt::nvidia {

inline constexpr int kSplitsOfPart = 8;

// Weights are at least the least normal number: an Inf of V counts however little its key weighs.
inline constexpr float kLeastWeight = 0x1p-126f;

DEVICE rapt_abi_partial no_keys() { return {kLowest, 0}; }

// The factors of O so far and of the next O.
struct FoldWeights {
  float so_far, next;

  DEVICE_MEMBER float operator()(float o, float next_o) const { return __builtin_fmaf(next_o, next, o * so_far); }
};

// `Power` is Softmax::kPower. O of a result without keys must be 0.
DEVICE float weight_of(const rapt_abi_partial& result, float top, float power) {
  return result.sum != 0 ? max(exp2((result.reference - top) * power), kLeastWeight) : 0;
}
DEVICE FoldWeights fold(rapt_abi_partial& so_far, const rapt_abi_partial& next, float power) {
  const float top = max(so_far.reference, next.sum != 0 ? next.reference : kLowest);
  const FoldWeights weights = {weight_of(so_far, top, power), weight_of(next, top, power)};
  so_far = {top, weights(so_far.sum, next.sum)};
  return weights;
}

}  // namespace rapt::nvidia
