// The backward pass of logits, element by element: P = exp(S - lse), dS = P (dP - delta) (Dao et al., "FlashAttention",
// 2022, appendix B.4).
#pragma once

#include "kernels/common/scores.hpp"

namespace rapt::RAPT_VENDOR {

// The elements that drop() drops, as bits.
template <class Logits>
struct Dropped {
  static constexpr int count = Logits::count, group = Logits::group;
  static_assert(count <= 32);

  const Logits& like;
  uint32_t& bits;

  DEVICE_MEMBER int key(int i) const { return like.key(i); }
  DEVICE_MEMBER void set(int i, float) const { bits |= 1u << i; }
};

enum class Of { products, logits };

// Turns the products q k of one query into P after dropout, and dP = dO V^T into the gradient of the final logits, or
// of softmax_scale times the products, before softcap. `query()` is the row; plain kernels ask for it only where keys
// are `masked`.
template <bool General, Of What = Of::products, class Logits, class QueryOf>
DEVICE void score_gradients(Problem& p, const Block& b, int first_key, bool masked, const QueryOf& query,
                            const rapt_abi_row_statistics& row, const Logits& s, const Logits& dp) {
  float slope[Logits::count];
  uint32_t dropped = 0;
  if constexpr (General) {
#pragma unroll
    for (int i = 0; i < Logits::count; ++i) slope[i] = 1;
    transform_logits(p, b, query(), first_key, s, [&](int i, float x) { slope[i] = 1 - x * x; });
    if (p.keep_threshold < 65536) drop(p, b, query(), first_key, Dropped<Logits>{s, dropped});
  } else if (masked) {
    exclude(s, query().begin - first_key, query().end - first_key);
  }
  const float lse_log2 = row.lse * kLog2e;
  const auto compute = [&](auto excluded) {
#pragma unroll
    for (int i = 0; i < Logits::count; ++i) {
      const bool kept = !(dropped >> i & 1);
      const float power = General ? (s.get(i) - row.lse) * kLog2e : s.get(i) * p.scale_log2 - lse_log2;
      const float of_value = General ? (kept ? p.keep_scale * dp.get(i) : 0) : dp.get(i);
      const float change = (of_value - row.delta) * (General && What == Of::products ? slope[i] : 1);
      const float weight = exp2(excluded(i) ? kMasked : power);
      dp.set(i, weight * (excluded(i) ? 0 : change));
      // Scaled before it is rounded to an operand, as by the plain formula: dv is then as exact.
      s.set(i, kept ? weight * (General ? p.keep_scale : 1) : 0);
    }
  };
  // An Inf or NaN in a row or key must not reach keys or rows that do not attend each other.
  if (General || masked) compute([&](int i) { return s.get(i) == kMasked; });
  else compute([](int) { return false; });
}

}  // namespace rapt::RAPT_VENDOR
