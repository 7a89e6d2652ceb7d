#include "cli/probe/loops.hpp"

namespace rapt::cli {

namespace {
using Vector = int64_t __attribute__((vector_size(16), aligned(16)));
volatile int64_t opaque;
}  // namespace

void read_memory(const std::byte* data, size_t bytes) {
  constexpr size_t kLine = 64, kStep = 256, kAhead = 2048;  // bytes
  constexpr size_t kVectors = kStep / sizeof(Vector);
  Vector sums[4] = {};
  for (size_t at = 0; at + kStep <= bytes; at += kStep) {
    for (size_t line = 0; line < kStep; line += kLine) __builtin_prefetch(data + at + kAhead + line);
    const auto* vectors = reinterpret_cast<const Vector*>(data + at);
#pragma GCC unroll 16
    for (size_t i = 0; i < kVectors; ++i) sums[i % 4] |= vectors[i];
  }
  const Vector total = sums[0] | sums[1] | sums[2] | sums[3];
  opaque = total[0] | total[1];
}

}  // namespace rapt::cli
