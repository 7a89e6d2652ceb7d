// What the profile counts.
#pragma once

#include "sim/isa/clocks.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace rapt::sim {

// Each instruction belongs to one class. Vector memory instructions are classified by address space and operation.
enum class InstructionClass : std::uint8_t {
  scalar,
  scalar_memory,
  vector,
  transcendental,
  matrix,
  lds,
  global_load,
  global_store,
  global_atomic,
  flat_load,
  flat_store,
  flat_atomic,
  scratch_load,
  scratch_store,
  scratch_atomic,
  buffer_load,
  buffer_store,
  buffer_atomic,
  branch,
  wait,
  barrier,
  message,
  other,  // no-operations, modes, caches
};
inline constexpr unsigned class_count = 23;
std::string_view name(InstructionClass c);
InstructionClass classify(const Effects& effects);

// What memory instructions requested.
struct MemoryCounts {
  std::uint64_t bytes = 0;                     // of global, flat, buffer and scratch operations, all lanes
  std::uint64_t sectors32 = 0, sectors64 = 0;  // blocks of 32 and 64 bytes that each instruction touched
  std::uint64_t scalar_bytes = 0;              // of scalar loads
  std::uint64_t lds_bytes = 0;
  std::uint64_t lds_clocks = 0, lds_conflicts = 0;  // that the banks were busy; how many of them due to conflicts
  MemoryCounts& operator+=(const MemoryCounts& other);
};

// The counts of one static instruction, all waves together.
struct SlotCounts {
  // How often it was reached, did not continue with the next instruction, or was skipped by gfx9's MODE.vskip.
  std::uint64_t executed = 0, taken = 0, skipped = 0;
  MemoryCounts memory;
  SlotCounts& operator+=(const SlotCounts& other);
};

// The counts of a wave, a loop, a source line or a kernel.
struct Totals {
  std::uint64_t instructions = 0;
  std::uint64_t issue = 0;  // clocks that its waves took to issue it, each counted separately
  std::array<std::uint64_t, pipe_count> clocks{};
  std::array<std::uint64_t, class_count> classes{};
  MemoryCounts memory;
  Totals& operator+=(const Totals& other);
};

struct WaveCounts {
  std::uint64_t group = 0;  // its number in the grid, x first
  unsigned wave = 0;        // in its workgroup
  std::uint64_t cycles = 0;
  Totals totals;
};

}  // namespace rapt::sim
