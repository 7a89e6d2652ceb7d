// The chips that can be timed.
//
// Sources: AMD's white papers on CDNA 3 and CDNA 4 and the product data sheets for dies, units, clocks, cache sizes,
// bytes per clock and per second; LLVM's hazard recogniser for matrix_tail_clocks (three wait states more than the
// passes). No data sheet of MI308X is public: rocminfo reports its units and its clock, its memory is MI300X's.
#include "sim/timing/chip.hpp"

#include <algorithm>
#include <array>

namespace rapt::sim::timing {
namespace {

constexpr unsigned kib = 1024, mib = 1024 * kib;

constexpr Chip cdna3 = {
    .name = "mi300x",
    .arch = Arch::gfx942,
    .clock_mhz = 2100,
    .dies = 8,
    .units_per_die = 38,
    .simds = 4,
    .scalar_clocks = 4,
    .refetch_clocks = 16,  // fitted
    .matrix_tail_clocks = 12,
    .lds_clocks = 64,  // fitted
    .lds_bytes_per_clock = 128,
    .scalar_load_clocks = 200,  // fitted
    .line_bytes = 128,
    .l1_bytes = 32 * kib,
    .l1_ways = 64,
    .l1_bytes_per_clock = 64,
    .l1_clocks = 120,  // fitted
    .l2_bytes = 4 * mib,
    .l2_ways = 16,
    .l2_bytes_per_clock = 16 * 128,
    .l2_unit_bytes_per_clock = 64,
    .l2_clocks = 300,  // fitted
    .last_level_gigabytes = 17200,
    .last_level_nanoseconds = 262,  // fitted
    .memory_gigabytes = 5300,
    .memory_nanoseconds = 380,       // fitted
    .memory_efficiency = 0.81,       // fitted
    .launch_microseconds = 4,        // fitted
    .group_clocks = 16,              // fitted
    .sustained_matrix_share = 0.26,  // fitted
    .idle_microseconds = 8,          // fitted
};

constexpr Chip mi308x() {
  Chip chip = cdna3;
  chip.name = "mi308x";
  chip.dies = 4;
  chip.units_per_die = 20;
  chip.clock_mhz = 1420;
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
  chip.sustained_matrix_share = 0.33;  // fitted
  return chip;
}

// The first of an architecture is the one that its name alone means.
constexpr std::array table{cdna3, mi308x(), mi300a(), mi355x()};

#define FITTED(field, unit, low, high)                                                          \
  FittedNumber {                                                                                \
    #field, unit, low, high, [](const Chip& chip) -> double { return chip.field; },             \
        [](Chip& chip, double value) { chip.field = static_cast<decltype(chip.field)>(value); } \
  }
constexpr std::array numbers{
    FITTED(refetch_clocks, "clocks", 8, 32),
    FITTED(lds_clocks, "clocks", 50, 128),
    FITTED(scalar_load_clocks, "clocks", 100, 300),
    FITTED(l1_clocks, "clocks", 100, 160),
    FITTED(l2_clocks, "clocks", 200, 500),
    FITTED(last_level_nanoseconds, "ns", 180, 350),
    FITTED(memory_nanoseconds, "ns", 300, 500),
    FITTED(memory_efficiency, "of the peak", 0.7, 0.95),
    FITTED(launch_microseconds, "us", 2, 6),
    FITTED(group_clocks, "clocks", 4, 32),
    FITTED(sustained_matrix_share, "of the time", 0.2, 1),
    FITTED(idle_microseconds, "us", 0, 20),
};
#undef FITTED

}  // namespace

std::span<const Chip> chips() { return table; }
std::span<const FittedNumber> fitted_numbers() { return numbers; }

const Chip* find_chip(Arch arch, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Chip& chip) {
    return chip.arch == arch && (name.empty() || chip.name == name);
  });
  return found == table.end() ? nullptr : &*found;
}

const Chip* find_chip(Arch arch, unsigned compute_units) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Chip& chip) {
    return chip.arch == arch && chip.dies * chip.units_per_die == compute_units;
  });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace rapt::sim::timing
