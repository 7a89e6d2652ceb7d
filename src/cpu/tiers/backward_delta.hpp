// delta = rowsum(dO * O), in the order in which dP = V dO^T is summed: for a row that attends one key, O = V, and
// dP - delta is exactly 0, as by the plain formula. Rows of O that are null count as zeros.
#pragma once

#include "cpu/tiers/rows.hpp"
#include "cpu/tiers/queries.hpp"

namespace rapt::cpu::RAPT_TIER {

// Of kLanes rows: dO^T is do_lanes [words][kGroupLanes], scratch takes O^T.
template <bool kDot, class T>
inline F lane_deltas(const T* const* out, int64_t dim, const float* do_lanes, float* scratch) {
  transpose_rows<kDot>(out, dim, scratch, kLanes);
  const int64_t depth = words<kDot>(dim), step = chain_length<kDot>(dim, depth);
  F total = F{};
  for (int64_t first = 0; first < depth; first += step) {
    F part = F{};
    for (int64_t w = first; w < std::min(first + step, depth); ++w)
      part = multiply_add<kDot>(part, load(scratch + w * kLanes), load(do_lanes + w * kGroupLanes));
    total = total + part;
  }
  return total;
}

#if defined(__AMX_BF16__)
// Of kGroupLanes rows with tiles: the diagonal of O dO^T. `rows` takes O, `products` [kGroupLanes][kGroupLanes].
inline void group_deltas(const Bf16* const* out, int64_t dim, const float* do_lanes, float* rows, float* products,
                         float* delta) {
  const int64_t row = padded(words<true>(dim));
  for (int64_t i = 0; i < kGroupLanes; ++i)
    for (int64_t w = 0; w < row; w += kLanes)
      store(rows + i * row + w, out[i] ? load_words<true>(out[i], w, dim) : F{});
  tile_product<false>(kGroupLanes, rows, row, do_lanes, kGroupLanes, row, products, kGroupLanes);
  for (int64_t i = 0; i < kGroupLanes; ++i) delta[i] = products[i * kGroupLanes + i];
}
#endif

}  // namespace rapt::cpu::RAPT_TIER
