// Online softmax for the long pipeline of Hopper's kernels. A lane has parts of two rows.
//
// P is exp2(logit - reference), as in softmax.hpp. The reference is the maximum of the row's first keys. It is replaced
// only where a logit is far above it, which a vote of the warp finds out without the row's maximum.
#pragma once

#include "kernels/common/huge.hpp"
#include "kernels/common/softmax.hpp"
#include "kernels/hopper/isa/wgmma.hpp"

namespace rapt::nvidia {

// If `Options`, options have changed the scores. Then they may be too large for the log2 domain: a bias of the lowest
// float32 would overflow there. Scores of a row with huge ones (huge.hpp) are taken relative to `far`, its largest
// score. Without options such rows are computed again (again.hpp).
template <class T, int Tiles, bool Options>
class RunningSoftmax {
 public:
  static constexpr float kMost = T::p_exponent + kLazy;  // that a logit may be above its row's reference

  // The scale of scores, whose logits are in the log2 domain, and its inverse.
  DEVICE_MEMBER RunningSoftmax(const float& scale, const float& inverse) : scale_(scale), inverse_(inverse) {}

  DEVICE_MEMBER void begin() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      reference_[half] = sum_[half] = rest_[half] = far_[half] = 0;
    }
    careful_ = true;
  }

  // Turns a tile of scores into P, after exclude() if it is `partial`. Where a reference is replaced, rescale(factor)
  // must multiply O so far. What is rare comes first and in few branches: what follows is one block, in which the
  // compiler can mix instructions.
  //
  // beside() is computed beside the exponentials.
  template <class Exclude, class Rescale, class Beside>
  DEVICE_MEMBER void weigh(Accumulators<Tiles>& s, bool partial, const Exclude& exclude, const Rescale& rescale,
                           const Beside& beside) {
    bool outdated;
    if (rarely(partial || careful_)) {
      if (partial) exclude();
      outdated = any_lane(needs_other(s));
    } else {
      outdated = any_lane(exceeds(s));
    }
    if (rarely(outdated)) {
      float factor[2];
      replace_references(s, factor);
      rescale(factor);
    }
    if constexpr (Options)
      if (rarely(careful_)) subtract_far(s);
    beside();
    add_up(s);
  }

  // The same for a row's first keys, in place of begin() too. Nothing must be rescaled.
  template <class Exclude>
  DEVICE_MEMBER void weigh_first(Accumulators<Tiles>& s, bool partial, const Exclude& exclude) {
    static_assert(!Options);
    if (rarely(partial)) exclude();
    bool settled = true;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float most = query_max(largest(s, half)) * scale_;
      const bool keys = most > -__builtin_inff();
      reference_[half] = keys ? most - T::p_exponent : 0;
      settled &= keys && reference_[half] >= -kMost;
      sum_[half] = rest_[half] = far_[half] = 0;
    }
    careful_ = any_lane(!settled);
    add_up(s);
  }

  // After P has been rounded.
  DEVICE_MEMBER void settle() {
    if (rarely(careful_)) careful_ = any_lane(!settled(0) || !settled(1));
  }

  // As the other kernels finish a row: those with options have natural logits, which are scores times `unit`.
  DEVICE_MEMBER Softmax<T, Options> of_row(int half, float unit) const {
    if constexpr (!Options) return {reference_[half], sum_[half], rest_[half]};
    else return {__builtin_fmaf(far_[half], unit, reference_[half] * kLn2), sum_[half], rest_[half]};
  }

 private:
  // P of scores, which it adds to the lane's parts of its rows' sums.
  DEVICE_MEMBER void add_up(Accumulators<Tiles>& s) {
    float sums[4];
#pragma unroll
    for (int i = 0; i < Tiles; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        s[i][e] = exp2(__builtin_fmaf(s[i][e], scale_, -reference_[e / 2]));
        sums[e] = i == 0 ? s[i][e] : sums[e] + s[i][e];
      }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = sums[2 * half] + sums[2 * half + 1], total = sum_[half] + sum;
      rest_[half] += sum - (total - sum_[half]);
      sum_[half] = total;
    }
  }
  // The largest score that needs no other reference.
  DEVICE_MEMBER float limit(int half) const { return (reference_[half] + kMost) * inverse_; }
  DEVICE_MEMBER bool settled(int half) const {
    return sum_[half] > 0 && reference_[half] >= -kMost && !(Options && far_[half] != 0);
  }

  DEVICE_MEMBER float largest(const Accumulators<Tiles>& s, int half) const {
    float most = max(s[0][2 * half], s[0][2 * half + 1]);
#pragma unroll
    for (int i = 1; i < Tiles; ++i) most = max(most, max(s[i][2 * half], s[i][2 * half + 1]));
    return most;
  }

  // Whether a score is above its limit, which is not below 0: as integers, floats above 0 keep their order, and lie
  // above all that are below 0. Three at once.
  DEVICE_MEMBER bool exceeds(const Accumulators<Tiles>& s) const {
    int most[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) most[e] = as_int(s[0][e]);
#pragma unroll
    for (int i = 1; i + 1 < Tiles; i += 2)
#pragma unroll
      for (int e = 0; e < 4; ++e) most[e] = __vimax3_s32(most[e], as_int(s[i][e]), as_int(s[i + 1][e]));
    bool found = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int last =
          __vimax3_s32(most[2 * half + 1], as_int(s[Tiles - 1][2 * half]), as_int(s[Tiles - 1][2 * half + 1]));
      found |= max(most[2 * half], last) > as_int(limit(half));
    }
    return found;
  }
  DEVICE int as_int(float x) { return __float_as_int(x); }

  // The same for any limit, and whether these are a row's first keys.
  DEVICE_MEMBER bool needs_other(const Accumulators<Tiles>& s) const {
    bool found = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float most = largest(s, half) - (Options ? far_[half] : 0);
      found |= most > limit(half) || (sum_[half] == 0 && most > -__builtin_inff());
    }
    return found;
  }

  DEVICE_MEMBER void replace_references(const Accumulators<Tiles>& s, float (&factor)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float top = query_max(largest(s, half)), before = query_sum(sum_[half]);
      const float old = reference_[half], old_far = far_[half], most = (Options ? top - old_far : top) * scale_;
      // If scaled, the lowest number would be -Inf, as for a row without keys.
      const bool first = before == 0 && (Options ? top : most) > -__builtin_inff();
      if (first || most > old + kMost) {
        if constexpr (Options) far_[half] = __builtin_fabsf(top * scale_) > kHuge ? top : 0;
        reference_[half] = (Options ? (top - far_[half]) * scale_ : most) - T::p_exponent;
      }
      float fall = old - reference_[half];
      if constexpr (Options) fall += (old_far - far_[half]) * scale_;
      factor[half] = before == 0 ? 1 : exp2(fall);
      sum_[half] *= factor[half];
      rest_[half] *= factor[half];
    }
    careful_ = true;
  }
  DEVICE_MEMBER void subtract_far(Accumulators<Tiles>& s) const {
    if (!any_lane(far_[0] != 0 || far_[1] != 0)) return;
#pragma unroll
    for (int i = 0; i < Tiles; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[i][e] -= far_[e / 2];
  }

  const float &scale_, &inverse_;  // of constant memory
  float reference_[2], sum_[2], rest_[2];
  float far_[2];  // 0 if the row's scores are not so large
  bool careful_;  // of the warp: a row has no keys yet, a limit below 0, or scores far from 0
};

}  // namespace rapt::nvidia
