// Rows of f16 to and from rows of float, with the host's conversion instructions if it has them.
#pragma once

#include "sim/machine/operands/types.hpp"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace rapt::sim::valu {

// The low half of each lane. A signalling NaN may become quiet.
template <unsigned N>
inline void halves_to_floats(const std::uint32_t* from, float* to) {
#if defined(__AVX512F__)
  for (unsigned l = 0; l < N; l += 16)
    _mm512_storeu_ps(to + l, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_loadu_si512(from + l))));
#elif defined(__F16C__) && defined(__AVX2__)
  for (unsigned l = 0; l < N; l += 8) {
    const __m256i low =
        _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + l)), _mm256_set1_epi32(0xffff));
    const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm256_storeu_ps(to + l, _mm256_cvtph_ps(halves));
  }
#else
  for (unsigned l = 0; l < N; ++l) to[l] = half_to_float(from[l]);
#endif
}

// To nearest or to zero; a NaN becomes quiet.
template <Round mode, unsigned N>
inline void floats_to_halves(const float* from, std::uint32_t* to) {
  static_assert(mode == Round::nearest || mode == Round::zero);
#if defined(__F16C__) && defined(__AVX2__)
  constexpr int rounding = (mode == Round::zero ? _MM_FROUND_TO_ZERO : _MM_FROUND_TO_NEAREST_INT) | _MM_FROUND_NO_EXC;
#endif
#if defined(__AVX512F__)
  for (unsigned l = 0; l < N; l += 16)
    _mm512_storeu_si512(to + l, _mm512_cvtepu16_epi32(_mm512_cvtps_ph(_mm512_loadu_ps(from + l), rounding)));
#elif defined(__F16C__) && defined(__AVX2__)
  for (unsigned l = 0; l < N; l += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + l), rounding & 3);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + l), _mm256_cvtepu16_epi32(halves));
  }
#else
  for (unsigned l = 0; l < N; ++l) to[l] = float_to_half(from[l] != from[l] ? quiet(from[l]) : from[l], mode);
#endif
}

template <unsigned N>
struct FloatRow {
  alignas(64) float values[N];
  float operator[](unsigned l) const { return values[l]; }
};

}  // namespace rapt::sim::valu
