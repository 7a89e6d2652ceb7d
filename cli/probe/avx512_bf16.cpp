#include <immintrin.h>

#include "cli/probe/loops.hpp"

namespace rapt::cli {

namespace {

constexpr int kAccumulators = 12;
volatile float opaque;

void dot_loop(int64_t iterations) {
  opaque = 0.01F;
  const __m512 factor = _mm512_set1_ps(opaque);
  const __m512bh a = _mm512_cvtne2ps_pbh(factor, factor);
  const __m512bh b = a;
  __m512 sums[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < kAccumulators; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], a, b);
  }
  __m512 total = _mm512_setzero_ps();
  for (int i = 0; i < kAccumulators; ++i) total = _mm512_add_ps(total, sums[i]);
  opaque = _mm512_cvtss_f32(total);
}

}  // namespace

constexpr PeakLoop kAvx512Bf16Dot{2.0 * kAccumulators * 32, dot_loop};

}  // namespace rapt::cli
