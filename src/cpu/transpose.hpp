// Transposition and horizontal sums of kLanes vectors at once, by Eklundh's exchange: for each bit s of the lane
// number, vectors i and i + s swap the lanes in which they differ.
#pragma once

#include <utility>

#include "cpu/vec.hpp"

namespace rapt::cpu::RAPT_TIER {

// Lanes without bit S from a, the others from b's lane without it.
template <int S, size_t... L>
RAPT_INLINE F lower_halves(F a, F b, std::index_sequence<L...>) {
  return __builtin_shufflevector(a, b, static_cast<int>((L & S) ? (L ^ S) + kLanes : L)...);
}
// Lanes without bit S from a's lane with it, the others from b.
template <int S, size_t... L>
RAPT_INLINE F upper_halves(F a, F b, std::index_sequence<L...>) {
  return __builtin_shufflevector(a, b, static_cast<int>((L & S) ? L + kLanes : (L ^ S))...);
}

using AllLanes = std::make_index_sequence<kLanes>;

template <int S>
RAPT_INLINE void exchange(F* r) {
  RAPT_UNROLL for (int i = 0; i < kLanes; ++i) {
    if (i & S) continue;
    const F a = r[i], b = r[i + S];
    r[i] = lower_halves<S>(a, b, AllLanes());
    r[i + S] = upper_halves<S>(a, b, AllLanes());
  }
}

// r[i][j] becomes r[j][i].
RAPT_INLINE void transpose(F* r) {
  exchange<1>(r);
  exchange<2>(r);
  if constexpr (kLanes >= 8) exchange<4>(r);
  if constexpr (kLanes >= 16) exchange<8>(r);
}

template <int S>
RAPT_INLINE void fold(F* r) {
  RAPT_UNROLL for (int i = 0; i < kLanes; i += 2 * S) {
    const F a = r[i], b = r[i + S];
    r[i] = lower_halves<S>(a, b, AllLanes()) + upper_halves<S>(a, b, AllLanes());
  }
}

// Lane l of the result is the sum of the lanes of r[l]. Overwrites r.
RAPT_INLINE F sums(F* r) {
  fold<1>(r);
  fold<2>(r);
  if constexpr (kLanes >= 8) fold<4>(r);
  if constexpr (kLanes >= 16) fold<8>(r);
  return r[0];
}

}  // namespace rapt::cpu::RAPT_TIER
