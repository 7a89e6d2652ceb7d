// Dot products of bf16, by vdpbf16ps and AMX alike, take denormal operands, products and sums for 0. That is mostly far
// less than a float32 sum loses. Where it may count, kernels say so, and another tier computes the call again
// (cpu::without_dots). Elements are looked at where they are read anyway.
#pragma once

#include <limits>

#include "cpu/tiers/rows.hpp"

namespace rapt::cpu::RAPT_TIER {

// Results whose largest value is smaller may have lost what counts.
inline constexpr float kSmall = 0x1p-90f;

// The sizes of bf16 elements.
class Sizes {
  typedef uint16_t Bits __attribute__((vector_size(4 * kLanes), may_alias));
  static constexpr uint16_t kInfinite = 0x7F80, kLeastNormal = 0x80;

 public:
  void add(const Bf16* row, int64_t dim) {
    const Bits one = Bits{} + uint16_t{1}, magnitude = Bits{} + uint16_t{0x7FFF};
    for (int64_t w = 0; 2 * w < dim; w += kLanes) {
      const Bits size = reinterpret_cast<Bits>(load_words<true>(row, w, dim)) & magnitude, less = size - one;
      most_ = size > most_ ? size : most_;
      least_less_one_ = less < least_less_one_ ? less : least_less_one_;  // of 0 it is the largest number
    }
  }

  bool finite() const { return most_bits() < kInfinite; }
  bool has_denormal() const { return least_bits() < kLeastNormal; }
  float most() const { return static_cast<float>(Bf16::of_bits(most_bits())); }
  // The smallest element that is not 0.
  float least() const { return least_bits() < kInfinite ? static_cast<float>(Bf16::of_bits(least_bits())) : INFINITY; }

 private:
  uint16_t most_bits() const {
    uint16_t most = 0;
    for (int i = 0; i < 2 * kLanes; ++i) most = most_[i] > most ? most_[i] : most;
    return most;
  }
  uint16_t least_bits() const {
    uint16_t least = 0xFFFF;
    for (int i = 0; i < 2 * kLanes; ++i) least = least_less_one_[i] < least ? least_less_one_[i] : least;
    return static_cast<uint16_t>(least + 1 > 0xFFFF ? 0xFFFF : least + 1);
  }

  Bits most_ = {}, least_less_one_ = Bits{} + uint16_t{0xFFFF};
};

// Sizes of rows [j, j + count) of k or v.
inline void add_sizes(Sizes& sizes, const Call& call, const View& view, const Sequence& s, int64_t j, int64_t count,
                      int64_t h, int64_t dim) {
  for (int64_t i = 0; i < count; ++i) sizes.add(key_row<Bf16>(call, view, s, j + i, h), dim);
}

// Whether products of these elements of q with keys lose nothing that counts in a logit.
inline bool keeps_logits(const Call& call, const Sizes& q) {
  constexpr float kLarge = 0x1p60f;  // times denormals of k
  return !q.has_denormal() && (q.most() <= kLarge || !q.finite()) && std::fabs(call.scale) <= 0x1p30;
}

// Whether P V lost nothing that counts: `most` is the largest sum of some rows, which have these keys. Sums of 0 are
// common: of masked rows.
inline bool keeps_values(float most, const Call& call, const Sequence& s, int64_t first, int64_t last, int64_t h) {
  if (most >= kSmall) return true;
  if (most > 0) return false;
  Sizes v;
  add_sizes(v, call, call.v, s, first, last - first, h, call.head_dim_v);
  return v.least() >= 0x1p-60f;
}

// The largest elements of the operands of gradients, and of P.
struct GradientSizes {
  float q, k, v, dout, p;

  // Whether products of them lose nothing that counts.
  bool keeps() const {
    const double ds = static_cast<double>(p) * v * dout;
    const auto keeps_product = [](double x) { return x == 0 || !(x < static_cast<double>(kSmall)); };  // NaN too
    return keeps_product(v) && keeps_product(dout) && keeps_product(static_cast<double>(p) * dout) &&
           keeps_product(static_cast<double>(v) * dout) && keeps_product(ds * q) && keeps_product(ds * k) &&
           keeps_product(q) && keeps_product(k) && keeps_product(ds);
  }
};

inline float largest_of(const float* x, int64_t count) {
  F most = {};
  for (int64_t i = 0; i < count; i += kLanes) most = max(float_of(bits_of(load(x + i)) & 0x7FFFFFFF), most);
  return max_of(most);
}

}  // namespace rapt::cpu::RAPT_TIER
