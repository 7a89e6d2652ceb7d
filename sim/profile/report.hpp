// The report of a kernel's counters: its loops, source lines, and the best time that each pipe allows.
#pragma once

#include "sim/profile/kernel_code.hpp"
#include "sim/profile/profiler.hpp"

#include <string>
#include <vector>

namespace rapt::sim {

// The time that the work takes on all of the device's pipes of one kind if it is spread evenly and nothing delays it.
struct Bound {
  std::string_view pipe;  // scalar, vector, transcendental, matrix, LDS, memory
  double unit_clocks;     // of one compute unit, if it had all of the work
  double microseconds;    // on the whole device
};
// memory_bytes: moved between memory and the device. The first one with the largest time is the bound.
std::vector<Bound> bounds(const Totals& totals, std::uint64_t memory_bytes, Arch arch);
const Bound& largest(const std::vector<Bound>& bounds);

struct LoopReport : LoopPlace {
  std::uint64_t iterations, entries;
  int parent;
  unsigned depth;
  Totals totals;
  std::uint64_t memory_bytes;  // the kernel's, distributed by the sectors requested
};

struct LineReport {
  Source source;
  Totals totals;
};

struct BlockReport {  // bytes from the kernel's entry
  std::int64_t first, end;
  std::uint64_t executed;
  Totals totals;
};

struct KernelReport {
  Totals totals;
  std::vector<LoopReport> loops;
  std::vector<LineReport> lines;    // by file and line; code without a line is last. Empty without debug information
  std::vector<BlockReport> blocks;  // the code's basic blocks
  std::string note;                 // why there are no lines although there is debug information
};
KernelReport analyse(const KernelProfile& kernel);

// The whole profile as JSON; docs/simulator.md describes it.
std::string report_json(const std::vector<KernelProfile>& kernels);

}  // namespace rapt::sim
