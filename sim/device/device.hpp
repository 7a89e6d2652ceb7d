// One simulated GPU: the launch of a kernel.
#pragma once

#include "sim/isa/properties.hpp"
#include "sim/machine/core/launch.hpp"

namespace rapt::sim {

class Profiler;
class Tracer;

// An observer of launches in addition to the sanitizer; null if there is none.
struct Followers {
  Profiler* profiler = nullptr;  // counts the launch (profile/profiler.hpp)
  Tracer* tracer = nullptr;      // may follow one of its waves (profile/trace.hpp)
};

struct LaunchResult {
  std::uint64_t cycles = 0;  // of the clock model, on the whole device; see docs/simulator.md
  std::uint64_t instructions = 0;
};

// Runs the kernel to its end on the threads of the process. Throws Fault (machine/core/fault.hpp) with a report that
// names the kernel, instruction, wave, lane and address.
LaunchResult run(const Launch& launch, int device, Followers followers = {});

}  // namespace rapt::sim
