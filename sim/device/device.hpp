// One simulated GPU: the launch of a kernel.
#pragma once

#include "sim/isa/properties.hpp"
#include "sim/machine/core/launch.hpp"

#include <memory>

namespace rapt::sim {

namespace timing {
struct Chip;
struct Forecast;
}  // namespace timing

class Profiler;
class Tracer;

// An observer of launches in addition to the sanitizer; null if there is none.
struct Followers {
  Profiler* profiler = nullptr;  // counts the launch (profile/profiler.hpp)
  Tracer* tracer = nullptr;      // may follow one of its waves (profile/trace.hpp)
};

// Whether a launch's time is forecast (sim/timing).
struct TimeRequest {
  const timing::Chip* chip = nullptr;  // null: no
  bool sample_only = false;            // only workgroups that the time is made from run, so outputs are incomplete
  // If a die's workgroups have no more instructions than this together, all of them are timed, not a sample. So many
  // take a few seconds.
  std::uint64_t most_to_time_whole = 1 << 24;
};

struct LaunchResult {
  std::uint64_t cycles = 0;  // of the clock model, on the whole device; see docs/simulator.md
  std::uint64_t instructions = 0;
  std::shared_ptr<const timing::Forecast> forecast;  // null if none was asked for
};

// Runs the kernel to its end on the threads of the process. Throws Fault (machine/core/fault.hpp) with a report that
// names the kernel, instruction, wave, lane and address.
LaunchResult run(const Launch& launch, int device, Followers followers = {}, TimeRequest time = {});

}  // namespace rapt::sim
