// The loops that measure one thread's peak rates. There is a register loop per instruction tier, each in its own file
// with that tier's flags; it may be called only if rapt_cpu_tier says that the tier is available.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rapt::cli {

struct PeakLoop {
  double flops_per_iteration;
  void (*run)(int64_t iterations);
};

extern const PeakLoop kPortableFma;
#if defined(__x86_64__)
extern const PeakLoop kAvx2Fma, kAvx512Fma, kAvx512Bf16Dot, kAmxBf16Dot, kAmxBf16DotFar;
#endif

// Reads memory once, prefetching: without that a plain loop understates the rate by more than a third.
void read_memory(const std::byte* data, size_t bytes);

}  // namespace rapt::cli
