// What the timing model needs to know of a product beyond its architecture: rates and latencies (chips.cpp has the
// table, and where each number comes from).
#pragma once

#include "sim/isa/arch.hpp"

#include <span>
#include <string_view>

namespace rapt::sim::timing {

// Clocks are the compute units' own. What lies behind L2 has clocks of its own, so its numbers are in nanoseconds and
// bytes per second: it does not slow down when the units do.
struct Chip {
  std::string_view name;  // "mi300x"
  Arch arch;
  double clock_mhz;  // peak
  unsigned dies;     // XCDs, which have an L2 each; workgroups go to them in turn
  unsigned units_per_die;

  // A unit: what workgroups are dispatched to. CDNA: a compute unit; RDNA: a workgroup processor, that is two compute
  // units, each with half of the SIMDs, and with its own path to the LDS and to vector memory.
  unsigned simds;
  unsigned turn_clocks;         // between a SIMD's turns to issue
  unsigned scalar_clocks;       // until the wave's next instruction after a scalar one
  unsigned refetch_clocks;      // until a wave issues again after a taken branch whose target is in the instruction
                                // cache, or once a barrier lets it go
  unsigned matrix_tail_clocks;  // from a product's last pass until others may read its result; on CDNA, not counting a
                                // product that adds to the same registers, which follows at once
  // RDNA: from the issue of an instruction until a dependent one may issue, where the first one takes one clock.
  unsigned vector_result_clocks = 0, transcendental_result_clocks = 0, scalar_result_clocks = 0;
  unsigned lds_clocks;          // latency of a load, beside the clocks that the banks are busy
  double lds_bytes_per_clock;   // of a compute unit
  unsigned scalar_load_clocks;  // latency of a scalar load
  // The instruction cache. CDNA's serves two units, but both run the same code. What misses it comes from L2.
  unsigned instruction_bytes, instruction_ways, instruction_line_bytes;

  // Vector memory: each latency is of the whole way to that level and back
  unsigned line_bytes;         // of L1 and L2
  unsigned l1_bytes, l1_ways;  // of a compute unit (RDNA calls it L0)
  double l1_bytes_per_clock;
  unsigned l1_clocks;
  unsigned lines_in_flight;      // misses that it can have on their way
  unsigned units_per_array = 0;  // that share a cache before L2 (RDNA 3's L1 of a shader array); 0: there is none
  unsigned array_bytes = 0, array_ways = 1;
  double array_bytes_per_clock = 0;  // of an array, all its units together
  unsigned array_clocks = 0;
  unsigned l2_bytes, l2_ways;      // of a die
  double l2_bytes_per_clock;       // of a die, all its units together
  double l2_unit_bytes_per_clock;  // at most, to one unit
  unsigned l2_clocks;
  double last_level_gigabytes;  // Infinity Cache: peak, 10^9 bytes per second
  double last_level_nanoseconds;
  double memory_gigabytes;  // HBM: peak
  double memory_nanoseconds;
  double memory_efficiency;  // how much of these two peaks can be had

  // A launch
  double launch_microseconds;  // from the queue's packet to the first wave, and from the last wave to the signal
  unsigned group_clocks;       // between two workgroups that a die starts

  // Power: the share of the time that the matrix units may be busy at the peak clock. A busier part slows down so that
  // share times clock squared stays the same: power is charge per clock times clock times voltage, which falls with it.
  double sustained_matrix_share;
  double vector_power;       // of a SIMD's vector unit, where its matrix unit has 1
  double idle_microseconds;  // between two launches, when the part draws little power
};

inline unsigned compute_units_per_unit(const Chip& chip) { return is_rdna(chip.arch) ? 2 : 1; }
inline unsigned compute_units(const Chip& chip) {
  return chip.dies * chip.units_per_die * compute_units_per_unit(chip);
}

std::span<const Chip> chips();
// The chip with this name, or the architecture's first for an empty name; null if there is none.
const Chip* find_chip(Arch arch, std::string_view name = {});
const Chip* find_chip(Arch arch, unsigned compute_units);

// A number that no document gives: it was fitted to measured times (docs/performance/amd-time.md).
struct FittedNumber {
  std::string_view name, unit;
  double low, high;  // what is plausible
  double (*get)(const Chip&);
  void (*set)(Chip&, double);
};
std::span<const FittedNumber> fitted_numbers();

}  // namespace rapt::sim::timing
