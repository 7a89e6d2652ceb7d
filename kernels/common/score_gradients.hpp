// The backward pass of logits, element by element: P = exp(S - lse), dS = P (dP - delta) (Dao et al., "FlashAttention",
// 2022, appendix B.4).
#pragma once

#include "kernels/common/not_finite.hpp"
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

// Limits final logits so that P is at most 1; NaN stays. Where dP - delta is infinite, NVIDIA's kernels have P of at
// least 2^-126 if float64 has more than 0: the gradient is then infinite too. It would be NaN if P were 0 because
// float32 has no less, or because it is scaled (runs.hpp). On gfx908 a kernel has no register left for it.
template <class Logits>
DEVICE void limit(const Logits& s, const Logits& dp, const rapt_abi_row_statistics& row) {
#pragma unroll
  for (int i = 0; i < Logits::count; ++i) {
    const float x = s.get(i);
#ifdef __CUDACC__
    constexpr float kLeast = -87, kLeastOfFloat64 = -745;
    const float least = is_infinite(dp.get(i) - row.delta) ? row.lse + kLeast : x;
    s.set(i, x > row.lse ? row.lse : x < least && x > row.lse + kLeastOfFloat64 ? least : x);
#else
    s.set(i, x > row.lse ? row.lse : x);
#endif
  }
}

enum class Of { products, logits };

// Turns the products q k of one query into P after dropout, and dP = dO V^T into the gradient of the final logits, or
// of softmax_scale times the products, before softcap. `query()` is the row; plain kernels ask for it only where keys
// are `masked`. `again`: in a later run, which is `masked` too. Its P is at most 1, however far rounding moves huge
// logits above lse (huge.hpp).
template <bool General, Of What = Of::products, class Logits, class QueryOf>
DEVICE void score_gradients(Problem& p, const Block& b, int first_key, bool masked, bool again, const QueryOf& query,
                            const rapt_abi_row_statistics& row, const Logits& s, const Logits& dp) {
  float slope[Logits::count];
  uint32_t dropped = 0;
  if constexpr (General) {
#pragma unroll
    for (int i = 0; i < Logits::count; ++i) slope[i] = 1;
    transform_logits(p, b, query(), first_key, s, [&](int i, float x) { slope[i] = 1 - x * x; });
    if (p.keep_threshold < 65536) drop(p, b, query(), first_key, Dropped<Logits>{s, dropped});
    if (again) limit(s, dp, row);
  } else if (masked) {
    if (again) s.scale(p.scale);
    exclude(s, query().begin - first_key, query().end - first_key);
    if (again) {
      limit(s, dp, row);
#pragma unroll
      for (int i = 0; i < Logits::count; ++i)
        if (s.get(i) != kMasked) s.set(i, s.get(i) - row.lse);  // lse may be NaN
    }
  }
  const auto compute = [&](auto excluded, float scale, float shift) {
#pragma unroll
    for (int i = 0; i < Logits::count; ++i) {
      const float factor = dropped >> i & 1 ? 0 : p.keep_scale;  // NaN stays NaN, also where a key was dropped
      const float power = General ? (s.get(i) - row.lse) * kLog2e : s.get(i) * scale - shift;
      const float of_value = General ? factor * dp.get(i) : dp.get(i);
      const float change = (of_value - row.delta) * (General && What == Of::products ? slope[i] : 1);
      const float weight = exp2(excluded(i) ? kMasked : power);
      dp.set(i, weight * (excluded(i) ? 0 : change));
      // Scaled before it is rounded to an operand, as by the plain formula: dv is then as exact.
      s.set(i, General ? factor * weight : weight);
    }
  };
  // An Inf or NaN in a row or key must not reach keys or rows that do not attend each other.
  const auto is_masked = [&](int i) { return s.get(i) == kMasked; };
  const float lse_log2 = row.lse * kLog2e;
  if (General || masked) compute(is_masked, again ? kLog2e : p.scale_log2, again ? 0 : lse_log2);
  else compute([](int) { return false; }, p.scale_log2, lse_log2);
}

}  // namespace rapt::RAPT_VENDOR
