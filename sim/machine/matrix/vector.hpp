// Compiler vectors of a compile-time width, for the matrix kernels. The width follows the instruction set compiled for:
// the compiler splits vectors wider than a register badly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace rapt::sim::matrix {

// The floats in a vector register, and the number of sums to keep in registers next to factors and constants.
#if defined __AVX512F__
inline constexpr int register_floats = 16, register_sums = 16;
#elif defined __AVX2__
inline constexpr int register_floats = 8, register_sums = 8;
#else
inline constexpr int register_floats = 4, register_sums = 8;
#endif
// A row of N floats is `count` vectors of `width`.
template <int N>
inline constexpr int width = std::min(N, register_floats);
template <int N>
inline constexpr int count = N / width<N>;

template <class T, int W>
struct VectorOf {
  typedef T Type __attribute__((vector_size(sizeof(T) * W)));
};
template <class T, int W>
using Vec = typename VectorOf<T, W>::Type;

template <class V, class T>
[[gnu::always_inline]] inline V load(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V, class T>
[[gnu::always_inline]] inline void store(T* to, V v) {
  std::memcpy(to, &v, sizeof v);
}
template <class F>
[[gnu::always_inline]] inline F broadcast(float v) {
  return v - F{};  // keeps a negative zero
}
// The same bits as another vector type.
template <class To, class From>
[[gnu::always_inline]] inline To bits_of(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &v, sizeof to);
  return to;
}
template <class V>
[[gnu::always_inline]] inline V larger(V a, V b) {
  return a > b ? a : b;
}
template <class V>
[[gnu::always_inline]] inline V smaller(V a, V b) {
  return a < b ? a : b;
}
// Whether an element is negative.
template <class V>
[[gnu::always_inline]] inline bool any_negative(V v) {
#if defined __AVX512F__
  if constexpr (sizeof v == 64) return _mm512_cmplt_epi32_mask(bits_of<__m512i>(v), _mm512_setzero_si512()) != 0;
#endif
#if defined __AVX2__
  if constexpr (sizeof v == 32) return _mm256_movemask_ps(bits_of<__m256>(v)) != 0;
#endif
#if defined __SSE2__
  if constexpr (sizeof v == 16) return _mm_movemask_ps(bits_of<__m128>(v)) != 0;
#endif
  std::uint32_t all = 0;
  for (unsigned i = 0; i < sizeof(V) / 4; ++i) all |= static_cast<std::uint32_t>(v[i]);
  return all >> 31 != 0;
}
// Floats to integers, towards minus infinity.
template <class I, class F>
[[gnu::always_inline]] inline I rounded_down(F v) {
#ifdef __AVX512F__
  if constexpr (sizeof v == 64)
    return bits_of<I>(
        _mm512_maskz_cvt_roundps_epi32(0xffff, bits_of<__m512>(v), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
#endif
  const I cut = __builtin_convertvector(v, I);
  return cut + (__builtin_convertvector(cut, F) > v);  // true is -1
}
// 16-bit integers to 32.
template <class I, class H>
[[gnu::always_inline]] inline I widened(H v) {
#ifdef __AVX512F__
  if constexpr (sizeof(I) == 64) return bits_of<I>(_mm512_maskz_cvtepi16_epi32(0xffff, bits_of<__m256i>(v)));
#endif
#ifdef __AVX2__
  if constexpr (sizeof(I) == 32) return bits_of<I>(_mm256_cvtepi16_epi32(bits_of<__m128i>(v)));
#endif
  return __builtin_convertvector(v, I);
}
// A constant that stays in a register: otherwise the compiler rebuilds it in every iteration of a loop.
template <class V>
[[gnu::always_inline]] inline V kept(V v) {
#ifdef __AVX512F__
  if constexpr (sizeof v == 64) asm("" : "+v"(v));
#endif
  return v;
}
// Element-wise fused multiply-add of a vector of one register.
template <class F>
[[gnu::always_inline]] inline F fused(F a, F b, F c) {
#ifdef __FMA__
#ifdef __AVX512F__
  if constexpr (sizeof a == 64)
    return bits_of<F>(_mm512_fmadd_ps(bits_of<__m512>(a), bits_of<__m512>(b), bits_of<__m512>(c)));
#endif
  if constexpr (sizeof a == 32)
    return bits_of<F>(_mm256_fmadd_ps(bits_of<__m256>(a), bits_of<__m256>(b), bits_of<__m256>(c)));
  if constexpr (sizeof a == 16)
    return bits_of<F>(_mm_fmadd_ps(bits_of<__m128>(a), bits_of<__m128>(b), bits_of<__m128>(c)));
#else
  // In double the product is exact. If the sum is not, its last bit is made odd, away from or towards zero depending on
  // the error. Rounding to float then gives what one rounding of the exact sum gives (S. Boldo, G. Melquiond,
  // "Emulation of FMA and correctly rounded sums", 2008).
  constexpr int n = sizeof a / 4;
  using D = Vec<double, n>;
  using L = Vec<std::int64_t, n>;
  const D product = __builtin_convertvector(a, D) * __builtin_convertvector(b, D),
          other = __builtin_convertvector(c, D);
  const D sum = product + other, added = sum - product;
  const D error = (product - (sum - added)) + (other - added);
  const L even = (bits_of<L>(sum) & 1) == 0, inexact = (error > 0) | (error < 0);  // no NaN
  const L outwards = (error > 0) == (sum > 0), one = L{} + 1;
  return __builtin_convertvector(bits_of<D>(bits_of<L>(sum) + (even & inexact & (outwards ? one : -one))), F);
#endif
}

}  // namespace rapt::sim::matrix
