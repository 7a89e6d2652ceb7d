// Lane masks: one bit per lane, in one or two SGPRs.
#pragma once

#include "sim/machine/scalar/operands.hpp"
#include "sim/machine/operands/valu.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace rapt::sim::valu {

// Bit l is the top bit of row[l].
template <unsigned N>
inline std::uint64_t mask_of(const std::uint32_t* row) {
  std::uint64_t mask = 0;
#if defined(__AVX512DQ__)
  for (unsigned l = 0; l < N; l += 16) mask |= std::uint64_t{_mm512_movepi32_mask(_mm512_loadu_si512(row + l))} << l;
#elif defined(__SSE2__)
  for (unsigned l = 0; l < N; l += 4) {
    const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + l));
    mask |= static_cast<std::uint64_t>(_mm_movemask_ps(_mm_castsi128_ps(four))) << l;
  }
#else
  for (unsigned l = 0; l < N; ++l) mask |= std::uint64_t{row[l] >> 31} << l;
#endif
  return mask;
}

// All ones in the lanes of the mask, else 0.
template <unsigned N>
inline void expand_mask(std::uint64_t mask, std::uint32_t* row) {
  alignas(64) static constexpr auto ones = [] {
    Row<N> r{};
    r.fill(~0U);
    return r;
  }();
  std::memset(row, 0, N * sizeof *row);
  write_row<N>(row, ones.data(), mask);
}

}  // namespace rapt::sim::valu
