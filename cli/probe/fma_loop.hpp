// Multiply-adds on twelve independent accumulators: enough to cover the latency of two FMA units, few enough to stay in
// sixteen registers. In an unnamed namespace, because each file that includes this compiles it for another tier.
#pragma once

#include <cstdint>

#include "cli/probe/loops.hpp"

namespace rapt::cli {
namespace {

constexpr int kAccumulators = 12;
volatile float opaque;  // hides the factors and the result from the compiler

template <class Vector>
void fma_loop(int64_t iterations) {
  opaque = 0.99F;
  const Vector factor = Vector{} + opaque;
  opaque = 1e-3F;
  const Vector addend = Vector{} + opaque;
  Vector sums[kAccumulators];
  for (int i = 0; i < kAccumulators; ++i) sums[i] = Vector{} + static_cast<float>(i);
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 12
    for (int i = 0; i < kAccumulators; ++i) sums[i] = sums[i] * factor + addend;
  }
  Vector total{};
  for (int i = 0; i < kAccumulators; ++i) total += sums[i];
  opaque = total[0];
}

template <class Vector>
constexpr PeakLoop fma_peak() {
  constexpr size_t kLanes = sizeof(Vector) / sizeof(float);
  return {2.0 * kAccumulators * kLanes, fma_loop<Vector>};
}

}  // namespace
}  // namespace rapt::cli
