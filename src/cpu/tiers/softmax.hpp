// The online softmax of one strip (Milakov and Gimelshein, 2018): exponentials, row sums and the narrowed P.
#pragma once

#include "cpu/tiers/logits.hpp"

namespace rapt::cpu::RAPT_TIER {

// 2^(factor * s - m), or for natural logits e^(s - m), where the subtraction precedes the multiplication.
template <bool kNatural>
RAPT_INLINE F exponential(F s, [[maybe_unused]] F factor, F m) {
  if constexpr (kNatural) return exp2((s - m) * splat(kLog2e));
  else return exp2(fms(s, factor, m));
}

// Raises a group's running maxima m of factor * s by another strip, whose largest s are `most`. `unit` is maximum_log2.
// Exponentials subtract `shift` from now on, and earlier sums are multiplied by `alpha`.
RAPT_INLINE void raise_maximum(const F* most, float factor, float unit, float* m, F* shift, F* alpha) {
  for (int i = 0; i < kVectors; ++i) {
    const F old = load(m + i * kLanes), now = max(most[i] * splat(factor), old);
    shift[i] = now == splat(-INFINITY) ? F{} : now;
    alpha[i] = exp2((old - shift[i]) * splat(unit));
    store(m + i * kLanes, now);
  }
}

// Rounding a maximum in the log2 domain moves it by up to 2^-24 of itself. One fused operation shows that as the
// exponent of the largest weight, which from 2^24 on could leave exp2's range: there the strip is scaled and rounded
// first, as its maximum was. Returns the factor that is left for exponentials().
inline float scale_huge(float* s, int64_t rows, float factor, const F* shift) {
  I huge = {};
  for (int v = 0; v < kVectors; ++v) huge |= float_of(bits_of(shift[v]) & 0x7FFFFFFF) > splat(0x1p24f);
  if (sum(float_of(huge & bits_of(splat(1)))) == 0) return factor;
  for (int64_t i = 0; i < rows * kGroupLanes; i += kLanes) store(s + i, load(s + i) * splat(factor));
  return 1;
}

// s [rows][kGroupLanes] becomes P = exponential(s), in place for floats; for kDot it goes to p as bf16 pairs of rows,
// [rows / 2][kGroupLanes] words. Adds each lane's sum of the unrounded P to sums.
template <bool kDot, bool kNatural>
inline void exponentials(float* s, int64_t rows, float factor, const F* m, F* sums, [[maybe_unused]] float* p) {
  F total[kVectors] = {};
  const F c = splat(factor);
  if constexpr (kDot) {
#if defined(__AVX512BF16__)
    int64_t j = 0;
    for (; j + 2 <= rows; j += 2) {
      RAPT_UNROLL for (int v = 0; v < kVectors; ++v) {
        const float* at = s + j * kGroupLanes + v * kLanes;
        const F a = exponential<kNatural>(load(at), c, m[v]),
                b = exponential<kNatural>(load(at + kGroupLanes), c, m[v]);
        total[v] = total[v] + (a + b);
        store(p + j / 2 * kGroupLanes + v * kLanes, pack_pairs(a, b));
      }
    }
    if (j < rows)
      for (int v = 0; v < kVectors; ++v) {
        const F a = exponential<kNatural>(load(s + j * kGroupLanes + v * kLanes), c, m[v]);
        total[v] = total[v] + a;
        store(p + j / 2 * kGroupLanes + v * kLanes, pack_pairs(a, F{}));
      }
#endif
  } else {
    _Pragma("GCC unroll 2") for (int64_t j = 0; j < rows; ++j) {
      RAPT_UNROLL for (int v = 0; v < kVectors; ++v) {
        const F e = exponential<kNatural>(load(s + j * kGroupLanes + v * kLanes), c, m[v]);
        total[v] = total[v] + e;
        store(s + j * kGroupLanes + v * kLanes, e);
      }
    }
  }
  for (int v = 0; v < kVectors; ++v) sums[v] = sums[v] + total[v];
}

// P times dropout's factors; P must not be narrowed yet.
inline void apply_factors(float* p, const float* factors, int64_t rows) {
  for (int64_t i = 0; i < rows * kGroupLanes; i += kLanes) store(p + i, load(p + i) * load(factors + i));
}

// [rows][kGroupLanes] floats to bf16 pairs of rows.
inline void narrow_pairs([[maybe_unused]] const float* p, [[maybe_unused]] int64_t rows, [[maybe_unused]] float* out) {
#if defined(__AVX512BF16__)
  for (int64_t j = 0; j < rows; j += 2)
    for (int v = 0; v < kVectors; ++v) {
      const float* at = p + j * kGroupLanes + v * kLanes;
      store(out + j / 2 * kGroupLanes + v * kLanes, pack_pairs(load(at), j + 1 < rows ? load(at + kGroupLanes) : F{}));
    }
#endif
}

}  // namespace rapt::cpu::RAPT_TIER
