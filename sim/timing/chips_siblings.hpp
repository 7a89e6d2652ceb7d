// The table's rows for GPUs that run another one's code objects (kernels/siblings.hpp, which has the product facts).
// Nobody published measurements of their caches, so these are the relative's: as many bytes a clock for each MiB of L2,
// as many bytes a second for each MiB of Infinity Cache. APUs have Strix Halo's way to memory, and no Infinity Cache.
#pragma once

#include "kernels/siblings.hpp"
#include "sim/timing/chips_rdna.hpp"

namespace rapt::sim::timing {

constexpr Chip sibling(Chip of, std::string_view chip_name, Arch arch, std::string_view gpu, unsigned units_per_array) {
  const Architecture& from = *find_gpu(code_of(gpu));
  const Architecture& facts = *find_gpu(gpu);
  const bool has_infinity_cache = facts.shared_cache_bytes > facts.l2_bytes;
  of.name = chip_name;
  of.arch = arch;
  of.clock_mhz = facts.clock_khz / 1000.0;
  of.units_per_die = facts.compute_units / 2;
  of.units_per_array = units_per_array;
  of.l2_bytes = facts.l2_bytes;
  of.l2_bytes_per_clock *= static_cast<double>(facts.l2_bytes) / from.l2_bytes;
  of.last_level_gigabytes *=
      has_infinity_cache ? static_cast<double>(facts.shared_cache_bytes) / from.shared_cache_bytes : 0;
  of.last_level_nanoseconds *= has_infinity_cache ? 1 : 0;
  of.memory_gigabytes = facts.memory_gigabytes_per_second;
  return of;
}

constexpr Chip radeon780m() {
  Chip chip = sibling(rx7900xtx, "radeon780m", Arch::gfx1103, "gfx1103", 6);
  chip.memory_nanoseconds = radeon8060s().memory_nanoseconds;
  chip.memory_efficiency = radeon8060s().memory_efficiency;
  return chip;
}

// A shader array of AMD's product pages: units of the chip over its arrays. Those of APUs are assumed to be one.
inline constexpr std::array sibling_chips{
    sibling(rx7900xtx, "rx7800xt", Arch::gfx1101, "gfx1101", 5),
    sibling(rx7900xtx, "rx7600", Arch::gfx1102, "gfx1102", 4),
    radeon780m(),
    sibling(radeon8060s(), "radeon890m", Arch::gfx1150, "gfx1150", 8),
    sibling(radeon8060s(), "radeon860m", Arch::gfx1152, "gfx1152", 4),
    sibling(radeon8060s(), "radeon820m", Arch::gfx1153, "gfx1153", 1),
    sibling(rx9070xt(), "rx9060xt", Arch::gfx1200, "gfx1200", 0),
};

}  // namespace rapt::sim::timing
