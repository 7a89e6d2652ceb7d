// The loops that measure what one thread can do at most. Register loops come one to an instruction tier, each in its
// own file with that tier's flags, and must be called only where rapt_cpu_tier says the tier is available.
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
extern const PeakLoop kAvx2Fma, kAvx512Fma, kAvx512Bf16Dot;
#endif

// Reads memory once, prefetching: without that a plain loop understates the rate by more than a third.
void read_memory(const std::byte* data, size_t bytes);

}  // namespace rapt::cli
