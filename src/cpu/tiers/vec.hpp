// The vector operations of one tier: F is a vector of kLanes floats in the compiler's vector type, so +, -, *, / and
// comparisons are built in; the rest is below. Included once per tier, inside its namespace (RAPT_TIER), because each
// tier compiles it for another instruction set.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/float16.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define RAPT_INLINE inline __attribute__((always_inline))
#define RAPT_UNROLL _Pragma("GCC unroll 16")

namespace rapt::cpu::RAPT_TIER {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
inline constexpr bool kAvx2Only = true;
#else
inline constexpr bool kAvx2Only = false;
#endif
#if defined(__AVX512BF16__)
inline constexpr bool kHasBf16Dot = true;
#else
inline constexpr bool kHasBf16Dot = false;
#endif
#if defined(__AMX_BF16__)
inline constexpr bool kHasTiles = true;
#else
inline constexpr bool kHasTiles = false;
#endif

typedef float F __attribute__((vector_size(4 * kLanes), may_alias));
typedef int32_t I __attribute__((vector_size(4 * kLanes), may_alias));
typedef uint32_t U __attribute__((vector_size(4 * kLanes), may_alias));

RAPT_INLINE F load(const float* p) {
  F v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
RAPT_INLINE void store(float* p, F v) { std::memcpy(p, &v, sizeof v); }
RAPT_INLINE I load_int(const int32_t* p) {
  I v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
RAPT_INLINE I bits_of(F v) { return reinterpret_cast<I>(v); }
RAPT_INLINE F float_of(I v) { return reinterpret_cast<F>(v); }
RAPT_INLINE void prefetch(const char* p) { __builtin_prefetch(p, 0, 3); }
RAPT_INLINE void prefetch_far(const char* p) { __builtin_prefetch(p, 0, 2); }
RAPT_INLINE void prefetch_for_writing(const float* p) { __builtin_prefetch(p, 1, 3); }

#if defined(__AVX512F__)

RAPT_INLINE F splat(float x) { return reinterpret_cast<F>(_mm512_set1_ps(x)); }
RAPT_INLINE F fma(F a, F b, F c) { return (F)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
RAPT_INLINE F fms(F a, F b, F c) { return (F)_mm512_fmsub_ps((__m512)a, (__m512)b, (__m512)c); }
// The second operand if either is NaN, like the instruction.
RAPT_INLINE F max(F a, F b) { return (F)_mm512_max_ps((__m512)a, (__m512)b); }
RAPT_INLINE F min(F a, F b) { return (F)_mm512_min_ps((__m512)a, (__m512)b); }
RAPT_INLINE float sum(F v) { return _mm512_reduce_add_ps((__m512)v); }
RAPT_INLINE float max_of(F v) { return _mm512_reduce_max_ps((__m512)v); }
using Half = __m256i;  // kLanes elements of 16 bits
RAPT_INLINE F widen(const Bf16*, Half raw) { return (F)_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16); }
RAPT_INLINE F widen(const Fp16*, Half raw) { return (F)_mm512_cvtph_ps(raw); }
template <class T16>
RAPT_INLINE F load16(const T16* p) {
  return widen(p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
RAPT_INLINE void store16(Fp16* p, F v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
}

#elif defined(__AVX2__)

RAPT_INLINE F splat(float x) { return (F)_mm256_set1_ps(x); }
RAPT_INLINE F fma(F a, F b, F c) { return (F)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
RAPT_INLINE F fms(F a, F b, F c) { return (F)_mm256_fmsub_ps((__m256)a, (__m256)b, (__m256)c); }
RAPT_INLINE F max(F a, F b) { return (F)_mm256_max_ps((__m256)a, (__m256)b); }
RAPT_INLINE F min(F a, F b) { return (F)_mm256_min_ps((__m256)a, (__m256)b); }
using Half = __m128i;  // kLanes elements of 16 bits
RAPT_INLINE F widen(const Bf16*, Half raw) { return (F)_mm256_slli_epi32(_mm256_cvtepu16_epi32(raw), 16); }
RAPT_INLINE F widen(const Fp16*, Half raw) { return (F)_mm256_cvtph_ps(raw); }
template <class T16>
RAPT_INLINE F load16(const T16* p) {
  return widen(p, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
RAPT_INLINE void store16(Fp16* p, F v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}

#else

RAPT_INLINE F splat(float x) {
  F v;
  for (int i = 0; i < kLanes; ++i) v[i] = x;
  return v;
}
RAPT_INLINE F fma(F a, F b, F c) { return a * b + c; }
RAPT_INLINE F fms(F a, F b, F c) { return a * b - c; }
RAPT_INLINE F max(F a, F b) { return a > b ? a : b; }
RAPT_INLINE F min(F a, F b) { return a < b ? a : b; }
template <class T16>
RAPT_INLINE F load16(const T16* p) {
  F v;
  for (int i = 0; i < kLanes; ++i) v[i] = static_cast<float>(p[i]);
  return v;
}
RAPT_INLINE void store16(Fp16* p, F v) {
  for (int i = 0; i < kLanes; ++i) p[i] = Fp16(v[i]);
}

#endif

#if !defined(__AVX512F__)
RAPT_INLINE float sum(F v) {
  float s = 0;
  for (int i = 0; i < kLanes; ++i) s += v[i];
  return s;
}
RAPT_INLINE float max_of(F v) {
  float m = v[0];
  for (int i = 1; i < kLanes; ++i) m = v[i] > m || v[i] != v[i] ? v[i] : m;
  return m;
}
#endif

// kLanes / R words from any address, R times over.
template <int R>
RAPT_INLINE F repeat_words(const void* p) {
#if defined(__AVX512F__)
  if constexpr (R == 2) return (F)_mm512_broadcast_f32x8(_mm256_loadu_ps(static_cast<const float*>(p)));
  else return (F)_mm512_broadcast_f32x4(_mm_loadu_ps(static_cast<const float*>(p)));
#elif defined(__AVX2__)
  if constexpr (R == 2) {
    return (F)_mm256_broadcast_ps(static_cast<const __m128*>(p));
  } else {
    double pair;
    std::memcpy(&pair, p, sizeof pair);
    return (F)_mm256_set1_pd(pair);
  }
#else
  float part[kLanes / R];
  std::memcpy(part, p, sizeof part);
  F v;
  for (int i = 0; i < kLanes; ++i) v[i] = part[i % (kLanes / R)];
  return v;
#endif
}

// The same for elements of 16 bits.
template <int R, class T16>
RAPT_INLINE F repeat16(const T16* p) {
#if defined(__AVX2__)
  if constexpr (kLanes / R == 8) {
    return widen(p, _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  } else {
    using Part = std::conditional_t<kLanes / R == 4, long long, int>;
    typedef Part Parts __attribute__((vector_size(2 * kLanes)));
    Part part;
    std::memcpy(&part, p, sizeof part);
    return widen(p, (Half)(Parts{} + part));
  }
#else
  F v;
  for (int i = 0; i < kLanes; ++i) v[i] = static_cast<float>(p[i % (kLanes / R)]);
  return v;
#endif
}

RAPT_INLINE F load_as_float(const float* p) { return load(p); }
RAPT_INLINE F load_as_float(const Fp16* p) { return load16(p); }
RAPT_INLINE F load_as_float(const Bf16* p) { return load16(p); }

RAPT_INLINE void store16(Bf16* p, F v) {
#if defined(__AVX512BF16__)
  const __m256bh narrow = _mm512_cvtneps_pbh((__m512)v);
  std::memcpy(static_cast<void*>(p), &narrow, sizeof narrow);
#else
  const U all = (U)v;
  const U rounded = (all + 0x7FFFu + ((all >> 16) & 1u)) >> 16;
  const U nan = (all >> 16) | 0x40u;
  const U bits = (all & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded;
  for (int i = 0; i < kLanes; ++i) p[i] = Bf16::of_bits(static_cast<uint16_t>(bits[i]));
#endif
}
RAPT_INLINE void store_from_float(float* p, F v) { store(p, v); }
RAPT_INLINE void store_from_float(Fp16* p, F v) { store16(p, v); }
RAPT_INLINE void store_from_float(Bf16* p, F v) { store16(p, v); }

#if defined(__AVX512BF16__)
// acc + a.lo * b.lo + a.hi * b.hi for each 32-bit lane holding two bf16.
RAPT_INLINE F dot2(F acc, F a, F b) { return (F)_mm512_dpbf16_ps((__m512)acc, (__m512bh)a, (__m512bh)b); }

// Lane l: bf16(lo[l]) in the low half, bf16(hi[l]) in the high half.
RAPT_INLINE F pack_pairs(F lo, F hi) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return (F)_mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh((__m512)hi, (__m512)lo));
}
#endif

// 2^f for f in [-1/2, 1/2], exactly 1 for 0.
RAPT_INLINE F exp2_fraction(F f) {
  F p = splat(0.0013264727f);
  p = fma(p, f, splat(0.009671513f));
  p = fma(p, f, splat(0.055507336f));
  p = fma(p, f, splat(0.24022242f));
  p = fma(p, f, splat(0.693147f));
  return fma(p, f, splat(1.0f));
}

#if defined(__AMX_BF16__)
// 2^x to 1.7e-7 relative for x > -126, otherwise exactly 0; NaN stays NaN. Processors with AMX have fast instructions
// that split x and scale the result; on Zen 4 they have half the rate of others. Scaling to a subnormal takes hundreds
// of cycles, so those lanes are left out. x must not exceed 127.
RAPT_INLINE F exp2(F x) {
  const __mmask16 normal = _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(-126), _CMP_NLE_UQ);
  const F fraction = (F)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return (F)_mm512_maskz_scalef_ps(normal, (__m512)exp2_fraction(fraction), (__m512)(x - fraction));
}
#else
// 2^x to 1.7e-7 relative for x >= -126; exactly 0 below -127 and for -inf; NaN stays NaN. The integer part comes from
// adding 1.5 * 2^23 (Cody and Waite's method), the rest from a minimax polynomial on [-1/2, 1/2]. Its constant term is
// 1, so that the result at the clamp, 2^-127, has the bits of 0. x must not exceed 127.
RAPT_INLINE F exp2(F x) {
  const F magic = splat(12582912.f);
  x = max(splat(-127.f), x);
  const F shifted = x + magic;
  const F p = exp2_fraction(x - (shifted - magic));
  return float_of(bits_of(p) + (bits_of(shifted) << 23));
}

#endif

// The same with accurate subnormal results: the gradients of a row can consist of them. Computes 2^(x + 64), with the
// 64 in the rounding constant, and scales it back.
RAPT_INLINE F exp2_subnormal(F x) {
  const F magic = splat(12582912.f + 64);
  x = max(splat(-190.f), x);
  const F shifted = x + magic;
  const F p = exp2_fraction(x - (shifted - magic));
  return float_of(bits_of(p) + (bits_of(shifted) << 23)) * splat(0x1p-64f);
}

}  // namespace rapt::cpu::RAPT_TIER
