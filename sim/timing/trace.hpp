// What the waves of a workgroup did, in the order in which each did it: all that timing needs to know of them.
#pragma once

#include "sim/isa/effects.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace rapt::sim::timing {

// One memory instruction of a wave.
struct Request {
  std::uint32_t first_line = 0;  // in WaveTrace::lines
  std::uint16_t lines = 0;       // cache lines that it touches
  std::uint16_t lds_clocks = 0;  // that the LDS's banks are busy, conflicts included
  std::uint32_t bytes = 0;       // of all lanes
};

// Whether an instruction has a Request, even if no lane takes part in it.
inline bool has_request(const Effects& e) { return e.loads || e.stores || e.atomic || e.unit == Unit::lds; }

struct WaveTrace {
  std::vector<std::uint32_t> slots;  // of each instruction, in dwords from the start of the text
  std::vector<Request> requests;     // of its memory instructions, in order
  std::vector<std::uint64_t> lines;  // addresses over Chip::line_bytes
};

struct GroupTrace {
  std::uint64_t number = 0;        // in the grid, x first
  std::uint64_t instructions = 0;  // of all waves, recorded and kept or only counted
  std::uint64_t lines = 0;         // that these touched
  std::vector<WaveTrace> waves;
};

inline std::uint64_t bytes(const GroupTrace& trace) {
  std::uint64_t sum = 0;
  for (const WaveTrace& wave : trace.waves)
    sum += wave.slots.size() * sizeof(std::uint32_t) + wave.requests.size() * sizeof(Request) +
           wave.lines.size() * sizeof(std::uint64_t);
  return sum;
}

// By group number. Timed groups have whole traces, the crowds' other groups their beginnings, and groups that are only
// counted the two numbers.
using Traces = std::map<std::uint64_t, GroupTrace>;

}  // namespace rapt::sim::timing
