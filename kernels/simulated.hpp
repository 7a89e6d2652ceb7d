// GPUs that the simulator has and that have no kernels yet. A row moves to architectures.hpp with its kernels.
//
// Sources: as in architectures.hpp. AMD's data sheet of MI50 has units, clocks, memory and L2; LLVM registers and
// waves; libdrm's amdgpu.ids the PCI number. The wall clock is assumed to be MI100's.
#pragma once

#include "kernels/architectures.hpp"

namespace rapt::architectures {

// clang-format off
inline constexpr Architecture kSimulated[] = {
    {.name = "gfx906", .vendor = "amd", .family = "dot", .product = "AMD Instinct MI50", .target = "gfx906:sramecc+:xnack-",
     .oldest_clang = 19,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 64, .queries_per_wave = 64,
     .lds_bytes_per_unit = 64 * kKib, .lds_bytes_per_group = 64 * kKib, .lds_granule = 512,
     .waves_per_simd = 10, .hip_waves_per_simd = 8, .vgprs_per_simd = 256, .vgpr_granule = 4,
     .vgprs_per_wave = 256, .separate_agprs = false, .sgprs_per_simd = 800, .sgpr_granule = 16,
     .compute_units = 60, .compute_units_per_xcd = 60, .max_group_size = 1024,
     .memory_bytes = 16368 * kMib, .memory_bus_bits = 4096, .memory_clock_khz = 1000000, .clock_khz = 1725000,
     .l2_bytes = 4096 * kKib, .pci_device_id = 0x66a1,
     .shared_cache_bytes = 4096 * kKib, .memory_gigabytes_per_second = 1024,
     .wall_clock_khz = 25000, .integrated = false},
};
// clang-format on

}  // namespace rapt::architectures
