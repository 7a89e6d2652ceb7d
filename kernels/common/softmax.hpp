// Online softmax of one query; each lane has some of its keys (Milakov and Gimelshein, "Online normalizer calculation
// for softmax", 2018; Dao et al., "FlashAttention", 2022).
#pragma once

#include "kernels/common/isa.hpp"

namespace rapt::RAPT_VENDOR {

// P is exp2((logit - reference) * kPower). Lazy rescaling: the reference follows the maximum only after the maximum
// grew by more than kLazy, so the sums and O are rarely rescaled. P is then at most 2^kLazy times too large; the
// division at the end cancels it.
inline constexpr float kLazy = 8;

// The lanes that have keys of the same query, where the matrix unit's tiles decide it.
struct QueryLanes {
  DEVICE float max(float x) { return query_max(x); }
  DEVICE float sum(float x) { return query_sum(x); }
};

template <class T, bool General, class Lanes = QueryLanes>
struct Softmax {
  // Plain kernels have logits in the log2 domain, which saves an operation. General kernels have natural logits: a bias
  // of the lowest float32 would overflow in the log2 domain.
  static constexpr float kUnit = General ? 1 : kLn2;     // natural logit = logit * kUnit
  static constexpr float kOctave = General ? kLn2 : 1;   // the difference of logits that doubles P
  static constexpr float kPower = General ? kLog2e : 1;  // logit * kPower is in the log2 domain
  float reference = kLowest;  // the maximum less T::p_exponent; the same in all lanes of a query
  float sum = 0, rest = 0;    // over this lane's keys, and the rounding error of sum (Fast2Sum)

  // True if `maximum`, this lane's largest logit, outgrew the reference. If it did in any lane, all lanes must raise
  // it.
  DEVICE_MEMBER bool outgrown(float maximum) const { return maximum > reference + (T::p_exponent + kLazy) * kOctave; }

  // Raises the reference to the maximum. Returns the factor by which earlier sums must be multiplied. `power` is
  // kPower, or its replacement in later passes (not_finite.hpp).
  DEVICE_MEMBER float raise_reference(float maximum, float power) {
    const float next = max(Lanes::max(maximum) - T::p_exponent * kOctave, reference);
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

  // Completes the row's sum; a sink is one more logit. Afterwards `reference` and `sum` are the same in all lanes of
  // the query. Returns the factor of O.
  DEVICE_MEMBER float finish(float sink) {
    sum = Lanes::sum(sum + rest);
    return finish_total(sink);
  }
  // The same where `sum` is the whole row's.
  DEVICE_MEMBER float finish_total(float sink) {
    const float top = max(reference, sink);
    const float factor = exp2((reference - top) * kPower);
    sum = sum * factor + exp2((sink - top) * kPower);
    reference = top;
    return sum > 0 ? factor / sum : sum;  // 0 for a row with no keys; NaN stays
  }
  // Natural logarithm. log2 is applied only to the fraction: for a large sum, the integer part would take bits of
  // precision from the result.
  DEVICE_MEMBER float lse() const {
    return (reference + exponent_of(sum) * kOctave) * kUnit + log2(fraction_of(sum)) * kLn2;
  }
};

}  // namespace rapt::RAPT_VENDOR
