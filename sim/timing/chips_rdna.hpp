// The table's RDNA rows.
//
// Sources, unless a number names another one: AMD's product pages have units, clocks, cache sizes and memory. AMD's
// RDNA white paper and RDNA architecture presentation (GPUOpen) say what a SIMD and a workgroup processor do in a
// clock, and that 5 clocks lie between dependent instructions. LLVM's SISchedule.td (GFX11SpeedModel, GFX12SpeedModel)
// has the other latencies of instructions. A number marked C&C comes from Chips and Cheese, "Microbenchmarking AMD's
// RDNA 3 graphics architecture". Numbers marked RX 6900 XT were measured on that chip of the generation before
// (te42kyfo's gpu-benches). An assumed number has its plausible range beside it.
#pragma once

#include "sim/timing/chips_cdna.hpp"

namespace rapt::sim::timing {

inline constexpr Chip rx7900xtx = {
    .name = "rx7900xtx",
    .arch = Arch::gfx1100,
    .clock_mhz = 2482,  // rocminfo
    .dies = 1,
    .units_per_die = 48,
    .simds = 4,
    .turn_clocks = 1,
    .scalar_clocks = 1,
    .refetch_clocks = 32,     // LLVM's latency of a branch; 10 to 40
    .matrix_tail_clocks = 2,  // hipBLASLt measured 34 clocks a product of a dependent chain (gfx1151, f16)
    .vector_result_clocks = 5,
    .transcendental_result_clocks = 10,
    .scalar_result_clocks = 2,
    .lds_clocks = 32,  // assumed, 25 to 43: C&C see far less than RX 6900 XT's 17 ns, and give no number
    .lds_bytes_per_clock = 128,
    .scalar_load_clocks = 38,       // C&C: 15.4 ns of the scalar cache
    .instruction_bytes = 32 * kib,  // RDNA white paper, as are ways and lines
    .instruction_ways = 4,
    .instruction_line_bytes = 64,
    .line_bytes = 128,
    .l1_bytes = 32 * kib,
    .l1_ways = 32,             // C&C
    .l1_bytes_per_clock = 64,  // RX 6900 XT: 13.9 TB/s of 80 units; RX 7600 the same (issue 19 of gpu-benches)
    .l1_clocks = 73,           // RX 6900 XT
    .lines_in_flight = 192,    // MI300X's fitted one, assumed
    .units_per_array = 4,      // 12 shader arrays
    .array_bytes = 256 * kib,
    .array_ways = 16,              // C&C
    .array_bytes_per_clock = 256,  // RDNA white paper: 64 bytes of each of four banks; assumed to be the same
    .array_clocks = 115,           // RX 6900 XT: 108 to 121
    .l2_bytes = 6 * mib,
    .l2_ways = 16,               // C&C
    .l2_bytes_per_clock = 4050,  // about twice RX 6900 XT's 2025 (C&C); 3000 to 4100
    .l2_unit_bytes_per_clock = 128,
    .l2_clocks = 205,               // RX 6900 XT
    .last_level_gigabytes = 3900,   // 1.8 times (C&C) RX 6900 XT's 1950, over memory_efficiency
    .last_level_nanoseconds = 150,  // measured (Chips and Cheese, "Latency testing is hard"); 199 at a low fabric clock
    .memory_gigabytes = 960,
    .memory_nanoseconds = 260,    // assumed, 220 to 400
    .memory_efficiency = 0.9,     // measured: 865 GB/s in decoding attention (chelokot's flash-attention-rdna3)
    .launch_microseconds = 4,     // MI300X's fitted one, assumed; 2 to 10
    .group_clocks = 16,           // the same; 4 to 32
    .sustained_matrix_share = 1,  // assumed: the clock does not fall
    .vector_power = 0,            // has no effect then
    .idle_microseconds = 8,       // the same
};

// RDNA 3.5: the same compute units. 32 MiB of Infinity Cache before LPDDR5X.
constexpr Chip radeon8060s() {
  Chip chip = rx7900xtx;
  chip.name = "radeon8060s";
  chip.arch = Arch::gfx1151;
  chip.clock_mhz = 2900;
  chip.units_per_die = 20;
  chip.units_per_array = 10;  // two shader arrays (Chips and Cheese, "Strix Halo's memory subsystem")
  chip.l2_bytes = 2 * mib;
  chip.l2_bytes_per_clock = 1350;     // as much of each MiB
  chip.last_level_gigabytes = 1160;   // "just under 1 TB/s" measured (same article), over memory_efficiency
  chip.last_level_nanoseconds = 180;  // assumed, 150 to 220: "slightly higher" than others' (same article)
  chip.memory_gigabytes = 256;
  chip.memory_nanoseconds = 350;  // assumed, 250 to 450
  chip.memory_efficiency = 0.83;  // measured: 212 GB/s (llm-tracker.info)
  return chip;
}

// RDNA 4: products in half of the clocks, and no cache in the shader arrays (Chips and Cheese, "AMD's RDNA4 GPU
// architecture at Hot Chips 2025").
constexpr Chip rx9070xt() {
  Chip chip = rx7900xtx;
  chip.name = "rx9070xt";
  chip.arch = Arch::gfx1201;
  chip.clock_mhz = 2970;
  chip.units_per_die = 32;
  chip.transcendental_result_clocks = 9;
  chip.units_per_array = 0;
  chip.l2_bytes = 8 * mib;
  chip.l2_bytes_per_clock = 5400;     // as much of each MiB, assumed; 4000 to 8000
  chip.last_level_gigabytes = 2600;   // assumed, 2000 to 3500
  chip.last_level_nanoseconds = 130;  // assumed, 110 to 160
  chip.memory_gigabytes = 640;
  chip.memory_nanoseconds = 240;  // assumed, 200 to 350
  return chip;
}

}  // namespace rapt::sim::timing
