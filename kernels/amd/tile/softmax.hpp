// Online softmax of one query a lane (Milakov and Gimelshein, "Online normalizer calculation for
// softmax", 2018; Dao et al., "FlashAttention", 2022).
#pragma once

#include "kernels/amd/isa/numbers.hpp"

namespace rapt::amd {

// P is exp2((logit - reference) * kPower). The reference follows the maximum only where that grew by more than kLazy,
// so that the sums and O are rescaled rarely: P is then at most 2^kLazy times too large, and the division at the end
// removes it.
inline constexpr float kLazy = 8;

template <class T, bool General>
struct Softmax {
  // Plain kernels have their logits in log2 units, which costs an operation less. General ones have natural logits: a
  // bias of float32's least would leave float32's range otherwise.
  static constexpr float kUnit = General ? 1 : kLn2;     // of a logit, as a natural one
  static constexpr float kOctave = General ? kLn2 : 1;   // a factor of 2, in that unit
  static constexpr float kPower = General ? kLog2e : 1;  // of 2, of a difference of 1
  float reference = kLowest;  // the maximum less T::p_exponent; the same in both lanes of a query
  float sum = 0, rest = 0;    // of this lane's keys, with what rounding lost: long sums stay exact (Fast2Sum)

  // True if some lane's logits outgrew the reference; `most` is the largest of this lane's.
  DEVICE_MEMBER bool outgrown(float most) const {
    return any_lane(most > reference + (T::p_exponent + kLazy) * kOctave);
  }

  // Moves the reference to the maximum; returns what all that was summed up before is to be multiplied by. `power` is
  // kPower, or what is taken for it (not_finite.hpp).
  DEVICE_MEMBER float move(float most, float power) {
    const float next = max(max(most, other_half(most)) - T::p_exponent * kOctave, reference);
    const float factor = exp2((reference - next) * power);
    reference = next;
    sum *= factor;
    rest *= factor;
    return factor;
  }

  DEVICE_MEMBER void add(float x) {
    const float total = sum + x;
    rest += x - (total - sum);
    sum = total;
  }

  // The whole row's sum; a sink is one more logit. Afterwards `reference` and `sum` are the same in both
  // lanes, and the result is what O is to be multiplied by.
  DEVICE_MEMBER float finish(float sink) {
    sum += rest;
    sum += other_half(sum);
    const float top = max(reference, sink);
    const float factor = exp2((reference - top) * kPower);
    sum = sum * factor + exp2((sink - top) * kPower);
    reference = top;
    return sum > 0 ? factor / sum : sum;  // a row with nothing to attend: 0; NaN stays
  }
  // Natural log. The logarithm is taken of the fraction alone: one of a large sum would lose what its integer part
  // takes.
  DEVICE_MEMBER float lse() const {
    const float exponent = static_cast<float>(__builtin_amdgcn_frexp_expf(sum));
    return (reference + exponent * kOctave) * kUnit + log2(__builtin_amdgcn_frexp_mantf(sum)) * kLn2;
  }
};

}  // namespace rapt::amd
