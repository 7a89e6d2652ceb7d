// The bf16 operands of the backward pass: P and dS as the three sums read them, and the keys for dQ.
#pragma once

#include "cpu/tiers/backward_scratch.hpp"

namespace rapt::cpu::RAPT_TIER {

#if defined(__AVX512BF16__)
// From a group's strip to the block's P and dS.
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
      store(w.ds_pairs + (j + r) / 2 * kBlockRow + lane0 + i * kLanes, pack_pairs(a, b));
    }
  }
  if constexpr (kHasTiles)  // dQ sums over whole strips
    for (int64_t pair = (j + rows + 1) / 2; pair < (j + kStrip) / 2; ++pair)
      std::memset(w.ds_pairs + pair * kBlockRow + lane0, 0, kGroupLanes * sizeof(float));
}
#else
inline void narrow_strip(const BackwardScratch&, int64_t, int64_t, int64_t) {}
#endif

#if defined(__AMX_BF16__)
// Keys [j0, j0 + count) as dQ^T's first operand: [head_dim][pairs of keys].
inline Rows transposed_keys(const Call& call, const Sequence& s, int64_t j0, int64_t count, int64_t head_k,
                            float* out) {
  const int64_t row = key_block(call) / 2;
  transpose_pairs([&](int64_t j) { return key_row<Bf16>(call, call.k, s, j0 + j, head_k); }, count, call.head_dim, out,
                  row);
  return {out, row};
}
#endif

}  // namespace rapt::cpu::RAPT_TIER
