// Transposition and horizontal sums of kLanes vectors at once, by Eklundh's exchange. For each bit s of the lane
// number, vectors i and i + s swap the lanes in which they differ.
#pragma once

#include <utility>

#include "cpu/tiers/vec.hpp"

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

// One exchange of a horizontal sum: halves of a and b that are then added. Written as the shuffles that cost least:
// single floats and pairs inside 16 bytes (unpack), then whole 16-byte parts.
enum class Unit { one, two, four };

template <Unit kUnit, bool kSecond>
constexpr int summand_lane(size_t lane) {
  const int part = static_cast<int>(lane / 4), at = static_cast<int>(lane % 4), second = kSecond ? 1 : 0;
  if (kUnit == Unit::one) return (at % 2 ? kLanes : 0) + 4 * part + 2 * second + at / 2;
  if (kUnit == Unit::two) return (at < 2 ? 0 : kLanes) + 4 * part + 2 * second + at % 2;
  constexpr int kHalf = kLanes >= 8 ? kLanes / 8 : 1;  // parts that come from a
  return (part < kHalf ? 0 : kLanes) + 4 * (2 * (part % kHalf) + second) + at;
}
template <Unit kUnit, size_t... L>
RAPT_INLINE F add_exchanged(F a, F b, std::index_sequence<L...>) {
  return __builtin_shufflevector(a, b, summand_lane<kUnit, false>(L)...) +
         __builtin_shufflevector(a, b, summand_lane<kUnit, true>(L)...);
}

// Lane l of the result is the sum of the lanes of r[l]. Overwrites r.
RAPT_INLINE F sums(F* r) {
  RAPT_UNROLL for (int i = 0; i < kLanes / 2; ++i) r[i] = add_exchanged<Unit::one>(r[2 * i], r[2 * i + 1], AllLanes());
  RAPT_UNROLL for (int i = 0; i < kLanes / 4; ++i) r[i] = add_exchanged<Unit::two>(r[2 * i], r[2 * i + 1], AllLanes());
  if constexpr (kLanes >= 8) {
    RAPT_UNROLL for (int n = kLanes / 8; n > 0; n /= 2) {
      RAPT_UNROLL for (int i = 0; i < n; ++i) r[i] = add_exchanged<Unit::four>(r[2 * i], r[2 * i + 1], AllLanes());
    }
  }
  return r[0];
}

// r has kCount = kLanes / R vectors of R parts: lane l of part p of the result is the sum of part p of r[l].
template <int kCount>
RAPT_INLINE F part_sums(const F* r) {
  if constexpr (kCount >= 4) {
    F quad[kCount / 4];
    RAPT_UNROLL for (int i = 0; i < kCount / 4; ++i) quad[i] =
        add_exchanged<Unit::two>(add_exchanged<Unit::one>(r[4 * i], r[4 * i + 1], AllLanes()),
                                 add_exchanged<Unit::one>(r[4 * i + 2], r[4 * i + 3], AllLanes()), AllLanes());
    if constexpr (kCount == 4) return quad[0];
    else return lower_halves<4>(quad[0], quad[1], AllLanes()) + upper_halves<4>(quad[0], quad[1], AllLanes());
  } else if constexpr (kCount == 2) {
    return lower_halves<1>(r[0], r[1], AllLanes()) + upper_halves<1>(r[0], r[1], AllLanes());
  } else {
    return r[0];
  }
}

// Each lane: the maximum of its aligned part of kCount lanes.
template <int S, size_t... L>
RAPT_INLINE F neighbours(F v, std::index_sequence<L...>) {
  return __builtin_shufflevector(v, v, static_cast<int>(L ^ S)...);
}
template <int kCount>
RAPT_INLINE F part_max(F v) {
  if constexpr (kCount >= 2) v = max(v, neighbours<1>(v, AllLanes()));
  if constexpr (kCount >= 4) v = max(v, neighbours<2>(v, AllLanes()));
  if constexpr (kCount >= 8) v = max(v, neighbours<4>(v, AllLanes()));
  if constexpr (kCount >= 16) v = max(v, neighbours<8>(v, AllLanes()));
  return v;
}

}  // namespace rapt::cpu::RAPT_TIER
