// Operands of the three sums dV += P^T dO, dK += dS^T Q and dQ^T += K^T dS^T. For bf16 words are pairs along what the
// product sums over: queries for dV and dK, keys for dQ.
#pragma once

#include "cpu/tiers/backward_scratch.hpp"

namespace rapt::cpu::RAPT_TIER {

// Rows of Q or dO (null: zeros), `row` words apart in `out`.
template <bool kDot, class T>
inline void gather_rows(const T* const* rows, int64_t count, int64_t dim, int64_t row, float* out) {
  if constexpr (kDot) {
#if defined(__AVX512BF16__)
    static constexpr Bf16 kZeros[kMaxHeadDim] = {};
    for (int64_t i = 0; i < count; i += 2)
      interleave_rows(rows[i] ? rows[i] : kZeros, rows[i + 1] ? rows[i + 1] : kZeros, dim, out + i / 2 * row);
#endif
  } else {
    for (int64_t i = 0; i < count; ++i) {
      if (rows[i]) copy_row<false>(rows[i], dim, out + i * row);
      else std::memset(out + i * row, 0, static_cast<size_t>(row) * sizeof(float));
    }
  }
}

#if defined(__AVX512BF16__)
// From the strip of a group's P and dS to the block's, in the layouts that the three products read.
inline void narrow_strip(const BackwardScratch& w, int64_t lane0, int64_t j, int64_t rows) {
  Bf16* p = reinterpret_cast<Bf16*>(w.p_block) + j * kQueryBlock + lane0;
  Bf16* ds = reinterpret_cast<Bf16*>(w.ds_block) + j * kQueryBlock + lane0;
  for (int64_t r = 0; r < rows; r += 2) {
    const bool second = r + 1 < rows;
    RAPT_UNROLL for (int i = 0; i < kVectors; ++i) {
      const float *from_p = w.s + r * kGroupLanes + i * kLanes, *from_ds = w.ds + r * kGroupLanes + i * kLanes;
      const F a = load(from_ds), b = second ? load(from_ds + kGroupLanes) : F{};
      store16(p + r * kQueryBlock + i * kLanes, load(from_p));
      store16(ds + r * kQueryBlock + i * kLanes, a);
      if (second) {
        store16(p + (r + 1) * kQueryBlock + i * kLanes, load(from_p + kGroupLanes));
        store16(ds + (r + 1) * kQueryBlock + i * kLanes, b);
      }
      store(w.ds_pairs + (j + r) / 2 * kQueryBlock + lane0 + i * kLanes, pack_pairs(a, b));
    }
  }
  if constexpr (kHasTiles)  // dQ sums over whole strips
    for (int64_t pair = (j + rows + 1) / 2; pair < (j + kStrip) / 2; ++pair)
      std::memset(w.ds_pairs + pair * kQueryBlock + lane0, 0, kGroupLanes * sizeof(float));
}

// Keys [j0, j0 + count) in pairs as dQ^T's first operand: [pairs][gradient_row], with tiles the transpose of it.
inline Rows pairs_of_keys(const Call& call, const Sequence& s, int64_t j0, int64_t count, int64_t head_k, float* out) {
  const auto key = [&](int64_t j) { return key_row<Bf16>(call, call.k, s, j0 + j, head_k); };
  if constexpr (kHasTiles) {
    const int64_t row = key_block(call) / 2;
    transpose_pairs(key, count, call.head_dim, out, row);
    return {out, row};
  }
  const int64_t row = gradient_row(call.head_dim);
  for (int64_t j = 0; j < count; j += 2)
    interleave_rows(key(j), j + 1 < count ? key(j + 1) : nullptr, call.head_dim, out + j / 2 * row);
  return {out, row};
}
#else
inline void narrow_strip(const BackwardScratch&, int64_t, int64_t, int64_t) {}
#endif

}  // namespace rapt::cpu::RAPT_TIER
