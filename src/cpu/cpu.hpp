// The cpu backend: SIMD tile kernels in tiers, one per instruction set, all compiled from the same sources
// (tiers/*.cpp) and chosen at run time. Takes every option of a call except fp64.
#pragma once

#include "problem/call.hpp"

namespace rapt::cpu {

// One compiled copy of the kernels. Its results are bitwise equal for any executor.
struct Kernels {
  const char* (*forward_kernel)(const Problem& problem);  // the variant's name
  const char* (*backward_kernel)(const Problem& problem);
  // Bytes of 64-byte aligned workspace at this concurrency.
  size_t (*forward_workspace)(const ForwardCall& call, int32_t concurrency);
  size_t (*backward_workspace)(const BackwardCall& call, int32_t concurrency);
  // False if denormal numbers that the instructions take for 0 may count in a result: without_dots() keeps them.
  bool (*forward)(const ForwardCall& call, const rapt_executor& executor, char* workspace);
  bool (*backward)(const BackwardCall& call, const rapt_executor& executor, char* workspace);
};

struct Tier {
  const char* name;
  const char* needs;  // the instruction sets, in words
  bool (*runs_here)();
  const char* (*refused)();  // why the system refuses what the processor has; "" if it permits it
  const Kernels& kernels;
};

size_t tier_count();
const Tier& tier(size_t index);  // fastest on this processor first; the last, "portable", runs everywhere
const Kernels& without_dots();   // the fastest kernels that need nothing but what every tier with dot products has
const char* order_reason();      // why the order departs from the instruction sets' order; "" if it does not

}  // namespace rapt::cpu
