// The table's CDNA rows, and MI50.
//
// AMD's white papers on CDNA to CDNA 4 and the product data sheets have dies, units, clocks, cache sizes, bytes per
// clock and per second. LLVM's hazard recogniser has matrix_tail_clocks: the wait states beyond the passes, times 4.
// ROCm's rocminfo has the lines of caches. MI308X has no public data sheet: rocminfo reports its units and its clock,
// and its memory is MI300X's. Numbers that are "measured" come from te42kyfo's gpu-benches (gpu-latency, gpu-l2-cache,
// gpu-stream), with results for MI100 and for MI210, which has 104 of MI250X's 110 units. Instruction caches: AMD's
// white paper on CDNA 3, and Linux's kfd_crat.c for older chips. "Fitted": see docs/performance/amd-time.md; older
// chips are assumed to be as MI300X where nothing else is said.
#pragma once

#include "sim/timing/chip.hpp"

namespace rapt::sim::timing {

inline constexpr unsigned kib = 1024, mib = 1024 * kib;

inline constexpr Chip cdna3 = {
    .name = "mi300x",
    .arch = Arch::gfx942,
    .clock_mhz = 2100,
    .dies = 8,
    .units_per_die = 38,
    .simds = 4,
    .turn_clocks = 4,
    .scalar_clocks = 4,
    .refetch_clocks = 20,  // 20.9 measured on MI200 ("L1I Fetch Latency" of vcopy in Omniperf's documentation)
    .matrix_tail_clocks = 12,
    .lds_clocks = 64,  // fitted
    .lds_bytes_per_clock = 128,
    .scalar_load_clocks = 200,  // fitted
    .instruction_bytes = 64 * kib,
    .instruction_ways = 8,
    .instruction_line_bytes = 128,
    .line_bytes = 128,
    .l1_bytes = 32 * kib,
    .l1_ways = 64,
    .l1_bytes_per_clock = 64,
    .l1_clocks = 125,        // measured
    .lines_in_flight = 192,  // fitted
    .l2_bytes = 4 * mib,
    .l2_ways = 16,
    .l2_bytes_per_clock = 16 * 128,
    .l2_unit_bytes_per_clock = 64,
    .l2_clocks = 240,  // measured
    .last_level_gigabytes = 17200,
    .last_level_nanoseconds = 262,  // fitted
    .memory_gigabytes = 5300,
    .memory_nanoseconds = 380,       // fitted
    .memory_efficiency = 0.81,       // fitted
    .launch_microseconds = 3,        // fitted
    .group_clocks = 16,              // fitted
    .sustained_matrix_share = 0.25,  // fitted
    .vector_power = 0.15,            // fitted
    .idle_microseconds = 8,          // fitted
};

constexpr Chip mi308x() {
  Chip chip = cdna3;
  chip.name = "mi308x";
  chip.dies = 4;
  chip.units_per_die = 20;
  chip.clock_mhz = 1420;
  chip.memory_efficiency = 0.65;    // fitted: perhaps its memory is slower
  chip.launch_microseconds = 2.5;   // fitted: it has half the dies
  chip.sustained_matrix_share = 1;  // MI300X's power for a quarter of its units
  return chip;
}

constexpr Chip mi300a() {
  Chip chip = cdna3;
  chip.name = "mi300a";
  chip.dies = 6;
  return chip;
}

constexpr Chip mi355x() {
  Chip chip = cdna3;
  chip.name = "mi355x";
  chip.arch = Arch::gfx950;
  chip.units_per_die = 32;
  chip.clock_mhz = 2400;
  chip.memory_gigabytes = 8000;
  chip.memory_efficiency = 0.75;       // fitted
  chip.sustained_matrix_share = 0.35;  // fitted
  return chip;
}

constexpr Chip mi250x() {  // one of its two dies, which ROCm shows as a device
  Chip chip = cdna3;
  chip.name = "mi250x";
  chip.arch = Arch::gfx90a;
  chip.dies = 1;
  chip.units_per_die = 110;
  chip.clock_mhz = 1700;
  chip.instruction_bytes = 32 * kib;
  chip.instruction_ways = 4;
  chip.instruction_line_bytes = 64;
  chip.line_bytes = 64;
  chip.l1_bytes = 16 * kib;
  chip.l2_bytes = 8 * mib;
  chip.l2_bytes_per_clock = 2986;  // measured: 5076 GB/s at 1.7 GHz, of 32 channels of 128 bytes
  chip.last_level_gigabytes = 0;   // there is none
  chip.last_level_nanoseconds = 0;
  chip.memory_gigabytes = 1638;
  chip.memory_nanoseconds = 345;    // measured: 587 clocks at 1.7 GHz
  chip.memory_efficiency = 0.82;    // measured: 1345 GB/s read
  chip.sustained_matrix_share = 1;  // assumed: nothing is published from which its clock under load follows
  return chip;
}

constexpr Chip mi100() {
  Chip chip = mi250x();
  chip.name = "mi100";
  chip.arch = Arch::gfx908;
  chip.units_per_die = 120;
  chip.clock_mhz = 1502;
  chip.matrix_tail_clocks = 8;     // LLVM: two wait states more than the passes
  chip.l2_bytes_per_clock = 1815;  // measured: 2726 GB/s at 1.502 GHz
  chip.memory_gigabytes = 1229;
  chip.memory_efficiency = 0.82;  // measured: 1006 GB/s of a triad; 1180 only read
  return chip;
}

constexpr Chip mi50() {  // nothing is measured: where AMD's data sheet has no number, MI100's
  Chip chip = mi100();
  chip.name = "mi50";
  chip.arch = Arch::gfx906;
  chip.units_per_die = 60;
  chip.clock_mhz = 1725;
  chip.l2_bytes = 4 * mib;
  chip.l2_bytes_per_clock = 1024;  // 16 channels of 64 bytes
  chip.memory_gigabytes = 1024;
  return chip;
}

}  // namespace rapt::sim::timing
