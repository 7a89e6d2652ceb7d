// Products near softcap's cap, in rows of q that also have products far above it. Logits far above are at the cap,
// whatever a float32 sum loses. The few others lose as much, because their sums have terms as large, and they alone
// have a slope. So they are computed again, in float64.
#pragma once

#include <cmath>

#include "cpu/tiers/queries.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr float kNear = 10, kFar = 16;  // caps: tanh(10) is 1 in float32

template <class T>
float exact_product(const T* q, const T* k, int64_t dim) {
  double sum = 0;
  for (int64_t x = 0; x < dim; ++x)
    sum += static_cast<double>(static_cast<float>(q[x])) * static_cast<double>(static_cast<float>(k[x]));
  return static_cast<float>(sum);
}

// The strip [rows][row] of a group holds unscaled products of keys j0, j0 + 1, ...
template <class T>
__attribute__((noinline)) void renew_near_cap(const Call& call, const Sequence& s, const QueryLanes& lanes,
                                              int64_t head_k, int64_t group, int64_t j0, int64_t rows, float* strip,
                                              int64_t row) {
  if (call.softcap == 0) return;
  const float cap = static_cast<float>(call.softcap / std::fabs(call.scale));
  alignas(64) float most[kGroupLanes] = {};
  for (int64_t r = 0; r < rows; ++r)
    for (int v = 0; v < kVectors; ++v) {
      const F size = float_of(bits_of(load(strip + r * row + v * kLanes)) & 0x7FFFFFFF);
      store(most + v * kLanes, max(size, load(most + v * kLanes)));
    }
  const int64_t first = group * kGroupLanes, count = std::min<int64_t>(kGroupLanes, lanes.count - first);
  for (int64_t lane = 0; lane < count; ++lane) {
    if (!(most[lane] > kFar * cap)) continue;
    const T* q = reinterpret_cast<const T*>(call.q.data) +
                 query_offset(call.q, s, lanes.query[first + lane], lanes.head[first + lane]);
    for (int64_t r = 0; r < rows; ++r) {
      float& product = strip[r * row + lane];
      if (std::fabs(product) < kNear * cap)
        product = exact_product(q, key_row<T>(call, call.k, s, j0 + r, head_k), call.head_dim);
    }
  }
}

}  // namespace rapt::cpu::RAPT_TIER
