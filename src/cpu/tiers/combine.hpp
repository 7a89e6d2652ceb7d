// Merges partial results of key ranges into out and lse, in ascending order of the ranges whichever thread made them.
//
//   m = max m_i, l = sum l_i w_i, out = sum O_i w_i / l with w_i = 2^(m_i - m), or e^(m_i - m) for natural logits.
#pragma once

#include <cmath>

#include "cpu/tiers/forward_tile.hpp"

namespace rapt::cpu::RAPT_TIER {

// Row r of every part, of query head `head`: part i is at parts.o + i * part_rows * dim, parts.m + i * part_rows.
template <class T>
inline void combine_row(const Call& call, const PartialRows& parts, int64_t count, int64_t part_rows, int64_t r,
                        int64_t head, int64_t dim, T* out, float* lse) {
  const bool natural = has_natural_logits(call);
  float m = -INFINITY, l = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float mi = parts.m[i * part_rows + r];
    m = mi > m || mi != mi ? mi : m;
  }
  const float shift = m == -INFINITY ? 0.f : m;
  float* total = parts.o + r * dim;  // part 0's row becomes the sum
  for (int64_t i = 0; i < count; ++i) {
    const float weight = std::exp2((parts.m[i * part_rows + r] - shift) * maximum_log2(natural));
    l += weight * parts.l[i * part_rows + r];
    const float* o = parts.o + (i * part_rows + r) * dim;
    for (int64_t x = 0; x < dim; ++x) total[x] = i == 0 ? weight * o[x] : total[x] + weight * o[x];
  }
  if (call.sink && join_last(sink_of(call, head), m, l)) std::fill_n(total, dim, 0.f);
  const float factor = l == 0 ? 0.f : 1 / l;
  int64_t x = 0;
  for (; x < dim; x += kLanes) store_elements(out, x, dim, load_words<false>(total, x, dim) * splat(factor));
  if (lse) *lse = m * maximum_unit(natural) + std::log(l);
}

}  // namespace rapt::cpu::RAPT_TIER
