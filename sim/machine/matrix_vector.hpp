// Vectors of a compile-time width as the compiler has them, for the matrices' kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace rapt::sim::matrix {

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
// The same bits as another vector.
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
#ifdef __AVX512F__
  if constexpr (sizeof v == 64) return _mm512_cmplt_epi32_mask(bits_of<__m512i>(v), _mm512_setzero_si512()) != 0;
#endif
  using Pairs = Vec<std::uint64_t, sizeof(V) / 8>;
  const Pairs pairs = bits_of<Pairs>(v);
  std::uint64_t all = 0;
  for (unsigned i = 0; i < sizeof(V) / 8; ++i) all |= pairs[i];
  return (all & 0x8000000080000000U) != 0;
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
  return __builtin_convertvector(v, I);
}
// A constant that stays in a register: the compiler would make it anew in every turn of a loop.
template <class V>
[[gnu::always_inline]] inline V kept(V v) {
#ifdef __AVX512F__
  if constexpr (sizeof v == 64) asm("" : "+v"(v));
#endif
  return v;
}
// Element-wise fused multiply-add.
template <class F>
[[gnu::always_inline]] inline F fused(F a, F b, F c) {
#ifdef __AVX512F__
  if constexpr (sizeof a == 64)
    return bits_of<F>(_mm512_fmadd_ps(bits_of<__m512>(a), bits_of<__m512>(b), bits_of<__m512>(c)));
#endif
#ifdef __FMA__
  if constexpr (sizeof a == 16) {
    return bits_of<F>(_mm_fmadd_ps(bits_of<__m128>(a), bits_of<__m128>(b), bits_of<__m128>(c)));
  } else {
    using Halves = __m256[2];
    Halves x, y, z;
    std::memcpy(x, &a, sizeof a), std::memcpy(y, &b, sizeof b), std::memcpy(z, &c, sizeof c);
    for (int h = 0; h < 2; ++h) z[h] = _mm256_fmadd_ps(x[h], y[h], z[h]);
    std::memcpy(&c, z, sizeof c);
    return c;
  }
#else
  for (unsigned i = 0; i < sizeof a / sizeof a[0]; ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return c;
#endif
}

}  // namespace rapt::sim::matrix
