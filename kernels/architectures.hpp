// The GPU architectures that kernels are compiled for, and one product of each: the single source of these facts.
// The packer, the drivers and the simulator include it; CMake, the Makefile and the demo read the names from its
// text.
//
// Sources: AMD's instruction set documents and data sheets; LLVM's AMDGPU back end for registers and waves
// (AMDGPUBaseInfo, GCNSubtarget); what ROCm reports for the product (rocminfo, hipGetDeviceProperties,
// hipDeviceGetAttribute).
//
// gfx906: AMD's data sheet of MI50 has units, clocks, memory and L2; MI60 and Radeon VII are the same chip. The wall
// clock is assumed to be MI100's.
//
// Infinity Caches: AMD's CDNA3 white paper (256 MB for 8 dies). AMD's product pages of RX 7900 XTX (96 MB) and RX 9070
// XT (64 MB). Chips and Cheese, "Strix Halo's Memory Subsystem" (32 MB).
//
// waves_per_simd is the number of hardware slots: 10 on gfx9 before gfx90a, 8 from gfx90a on, 16 on RDNA since gfx10.3
// (LLVM's getMaxWavesPerEU). For an empty kernel on gfx908 clang prints "Occupancy: 10". hip_waves_per_simd is what
// HIP's occupancy functions count: 8 on all of gfx9, because no more are ever dispatched to a SIMD.
//
// NVIDIA's words for the same: a wave is a warp, LDS is shared memory, a compute unit is a streaming multiprocessor.
// Its four partitions are SIMDs with a quarter of its registers each. Sources: CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability"; data sheets. A GPU runs the code of its major version's X.0. So the limits of
// sm_80 and sm_120 are the smallest of all their GPUs: sm_86 and sm_89 have less shared memory than an A100. sm_103's
// (GB300) and sm_121's (GB10) limits are those of sm_100 and sm_120.
#pragma once

#include <cstdint>
#include <string_view>

namespace rapt {

struct Architecture {
  std::string_view name;     // "gfx942", "sm_90"
  std::string_view vendor;   // determines the metadata of its code objects
  std::string_view family;   // kernels/<family> has its own kernels; the others are in kernels/<vendor>
  std::string_view product;  // "AMD Instinct MI300X"
  std::string_view target;   // HIP's name, with the features that the product enables: "gfx942:sramecc+:xnack-"
  int oldest_clang;          // the oldest version that compiles for it; 0: nvcc does

  // Per compute unit. On RDNA two of them form a workgroup processor, which HIP counts as one multiprocessor: they
  // share LDS, and a workgroup may run on both.
  unsigned units_per_multiprocessor;
  unsigned simds_per_unit;
  unsigned lanes;             // per wave, as kernels are compiled
  unsigned queries_per_wave;  // the columns of a matrix instruction's tile; without such instructions, lanes
  unsigned lds_bytes_per_unit, lds_bytes_per_group, lds_granule;

  // Per SIMD. gfx908 has as many AGPRs as VGPRs, in a file of their own; from gfx90a on both share one file.
  unsigned waves_per_simd, hip_waves_per_simd;
  unsigned vgprs_per_simd, vgpr_granule;  // per lane, 32 bits each
  unsigned vgprs_per_wave;                // the most that one wave may have, AGPRs included
  bool separate_agprs;
  unsigned sgprs_per_simd, sgpr_granule;  // 0: enough for all waves

  // Per product.
  unsigned compute_units;
  unsigned compute_units_per_xcd;  // XCD: a die; workgroups are distributed over XCDs round-robin
  unsigned max_group_size;
  std::uint64_t memory_bytes;
  unsigned memory_bus_bits, memory_clock_khz, clock_khz, l2_bytes, pci_device_id;
  unsigned shared_cache_bytes;           // a die's share of the cache nearest to memory: Infinity Cache, or else L2
  unsigned memory_gigabytes_per_second;  // peak, 10^9 bytes
  unsigned wall_clock_khz;               // of the counter that does not follow the core's clock
  bool integrated;                       // its memory is the host's
};

namespace architectures {

inline constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
inline constexpr unsigned kKib = 1024;

// A line of fields per part of the struct.
// clang-format off
inline constexpr Architecture kTable[] = {
    {.name = "gfx908", .vendor = "amd", .family = "cdna", .product = "AMD Instinct MI100", .target = "gfx908:sramecc+:xnack-",
     .oldest_clang = 19,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 64, .queries_per_wave = 32,
     .lds_bytes_per_unit = 64 * kKib, .lds_bytes_per_group = 64 * kKib, .lds_granule = 512,
     .waves_per_simd = 10, .hip_waves_per_simd = 8, .vgprs_per_simd = 256, .vgpr_granule = 4,
     .vgprs_per_wave = 512, .separate_agprs = true, .sgprs_per_simd = 800, .sgpr_granule = 16,
     .compute_units = 120, .compute_units_per_xcd = 120, .max_group_size = 1024,
     .memory_bytes = 32752 * kMib, .memory_bus_bits = 4096, .memory_clock_khz = 1200000, .clock_khz = 1502000,
     .l2_bytes = 8192 * kKib, .pci_device_id = 0x738c,
     .shared_cache_bytes = 8192 * kKib, .memory_gigabytes_per_second = 1229,
     .wall_clock_khz = 25000, .integrated = false},
    {.name = "gfx90a", .vendor = "amd", .family = "cdna", .product = "AMD Instinct MI250X", .target = "gfx90a:sramecc+:xnack-",
     .oldest_clang = 19,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 64, .queries_per_wave = 32,
     .lds_bytes_per_unit = 64 * kKib, .lds_bytes_per_group = 64 * kKib, .lds_granule = 512,
     .waves_per_simd = 8, .hip_waves_per_simd = 8, .vgprs_per_simd = 512, .vgpr_granule = 8,
     .vgprs_per_wave = 512, .separate_agprs = false, .sgprs_per_simd = 800, .sgpr_granule = 16,
     .compute_units = 110, .compute_units_per_xcd = 110, .max_group_size = 1024,
     .memory_bytes = 65520 * kMib, .memory_bus_bits = 4096, .memory_clock_khz = 1600000, .clock_khz = 1700000,
     .l2_bytes = 8192 * kKib, .pci_device_id = 0x7408,
     .shared_cache_bytes = 8192 * kKib, .memory_gigabytes_per_second = 1638,
     .wall_clock_khz = 25000, .integrated = false},
    {.name = "gfx942", .vendor = "amd", .family = "cdna", .product = "AMD Instinct MI300X", .target = "gfx942:sramecc+:xnack-",
     .oldest_clang = 19,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 64, .queries_per_wave = 32,
     .lds_bytes_per_unit = 64 * kKib, .lds_bytes_per_group = 64 * kKib, .lds_granule = 512,
     .waves_per_simd = 8, .hip_waves_per_simd = 8, .vgprs_per_simd = 512, .vgpr_granule = 8,
     .vgprs_per_wave = 512, .separate_agprs = false, .sgprs_per_simd = 800, .sgpr_granule = 16,
     .compute_units = 304, .compute_units_per_xcd = 38, .max_group_size = 1024,
     .memory_bytes = 196592 * kMib, .memory_bus_bits = 8192, .memory_clock_khz = 1300000, .clock_khz = 2100000,
     .l2_bytes = 4096 * kKib, .pci_device_id = 0x74a1,
     .shared_cache_bytes = 32 * 1024 * kKib, .memory_gigabytes_per_second = 5300,
     .wall_clock_khz = 100000, .integrated = false},
    {.name = "gfx950", .vendor = "amd", .family = "cdna", .product = "AMD Instinct MI355X", .target = "gfx950:sramecc+:xnack-",
     .oldest_clang = 20,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 64, .queries_per_wave = 32,
     .lds_bytes_per_unit = 160 * kKib, .lds_bytes_per_group = 160 * kKib, .lds_granule = 1280,
     .waves_per_simd = 8, .hip_waves_per_simd = 8, .vgprs_per_simd = 512, .vgpr_granule = 8,
     .vgprs_per_wave = 512, .separate_agprs = false, .sgprs_per_simd = 800, .sgpr_granule = 16,
     .compute_units = 256, .compute_units_per_xcd = 32, .max_group_size = 1024,
     .memory_bytes = 294896 * kMib, .memory_bus_bits = 8192, .memory_clock_khz = 2000000, .clock_khz = 2400000,
     .l2_bytes = 4096 * kKib, .pci_device_id = 0x75a3,
     .shared_cache_bytes = 32 * 1024 * kKib, .memory_gigabytes_per_second = 8000,
     .wall_clock_khz = 100000, .integrated = false},
    {.name = "gfx1100", .vendor = "amd", .family = "rdna", .product = "AMD Radeon RX 7900 XTX", .target = "gfx1100",
     .oldest_clang = 19,
     .units_per_multiprocessor = 2, .simds_per_unit = 2, .lanes = 32, .queries_per_wave = 16,
     .lds_bytes_per_unit = 64 * kKib, .lds_bytes_per_group = 64 * kKib, .lds_granule = 512,
     .waves_per_simd = 16, .hip_waves_per_simd = 16, .vgprs_per_simd = 1536, .vgpr_granule = 24,
     .vgprs_per_wave = 256, .separate_agprs = false, .sgprs_per_simd = 0, .sgpr_granule = 0,
     .compute_units = 96, .compute_units_per_xcd = 96, .max_group_size = 1024,
     .memory_bytes = 24560 * kMib, .memory_bus_bits = 384, .memory_clock_khz = 1249000, .clock_khz = 2482000,
     .l2_bytes = 6144 * kKib, .pci_device_id = 0x744c,
     .shared_cache_bytes = 96 * 1024 * kKib, .memory_gigabytes_per_second = 960,
     .wall_clock_khz = 100000, .integrated = false},
    {.name = "gfx1151", .vendor = "amd", .family = "rdna", .product = "AMD Radeon 8060S", .target = "gfx1151",
     .oldest_clang = 19,
     .units_per_multiprocessor = 2, .simds_per_unit = 2, .lanes = 32, .queries_per_wave = 16,
     .lds_bytes_per_unit = 64 * kKib, .lds_bytes_per_group = 64 * kKib, .lds_granule = 512,
     .waves_per_simd = 16, .hip_waves_per_simd = 16, .vgprs_per_simd = 1536, .vgpr_granule = 24,
     .vgprs_per_wave = 256, .separate_agprs = false, .sgprs_per_simd = 0, .sgpr_granule = 0,
     .compute_units = 40, .compute_units_per_xcd = 40, .max_group_size = 1024,
     .memory_bytes = 98304 * kMib,  // of 128 GiB, the rest is the host's
     .memory_bus_bits = 256, .memory_clock_khz = 1000000, .clock_khz = 2900000,
     .l2_bytes = 2048 * kKib, .pci_device_id = 0x1586,
     .shared_cache_bytes = 32 * 1024 * kKib, .memory_gigabytes_per_second = 256,
     .wall_clock_khz = 100000, .integrated = true},
    {.name = "gfx1201", .vendor = "amd", .family = "rdna", .product = "AMD Radeon RX 9070 XT", .target = "gfx1201",
     .oldest_clang = 19,
     .units_per_multiprocessor = 2, .simds_per_unit = 2, .lanes = 32, .queries_per_wave = 16,
     .lds_bytes_per_unit = 64 * kKib, .lds_bytes_per_group = 64 * kKib, .lds_granule = 512,
     .waves_per_simd = 16, .hip_waves_per_simd = 16, .vgprs_per_simd = 1536, .vgpr_granule = 24,
     .vgprs_per_wave = 256, .separate_agprs = false, .sgprs_per_simd = 0, .sgpr_granule = 0,
     .compute_units = 64, .compute_units_per_xcd = 64, .max_group_size = 1024,
     .memory_bytes = 16304 * kMib, .memory_bus_bits = 256, .memory_clock_khz = 1258000, .clock_khz = 2970000,
     .l2_bytes = 8192 * kKib, .pci_device_id = 0x7550,
     .shared_cache_bytes = 64 * 1024 * kKib, .memory_gigabytes_per_second = 640,
     .wall_clock_khz = 100000, .integrated = false},
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
    {.name = "sm_80", .vendor = "nvidia", .family = "nvidia", .product = "NVIDIA GeForce RTX 3090", .target = "sm_86",
     .oldest_clang = 0,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 32, .queries_per_wave = 16,
     .lds_bytes_per_unit = 100 * kKib, .lds_bytes_per_group = 99 * kKib, .lds_granule = 128,
     .waves_per_simd = 12, .hip_waves_per_simd = 12, .vgprs_per_simd = 512, .vgpr_granule = 8,
     .vgprs_per_wave = 255, .separate_agprs = false, .sgprs_per_simd = 0, .sgpr_granule = 0,
     .compute_units = 82, .compute_units_per_xcd = 82, .max_group_size = 1024,
     .memory_bytes = 24576 * kMib, .memory_bus_bits = 384, .memory_clock_khz = 9751000, .clock_khz = 1695000,
     .l2_bytes = 6144 * kKib, .pci_device_id = 0x2204,
     .shared_cache_bytes = 6144 * kKib, .memory_gigabytes_per_second = 936,
     .wall_clock_khz = 0, .integrated = false},
    {.name = "sm_90", .vendor = "nvidia", .family = "hopper", .product = "NVIDIA H200", .target = "sm_90",
     .oldest_clang = 0,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 32, .queries_per_wave = 16,
     .lds_bytes_per_unit = 228 * kKib, .lds_bytes_per_group = 227 * kKib, .lds_granule = 128,
     .waves_per_simd = 16, .hip_waves_per_simd = 16, .vgprs_per_simd = 512, .vgpr_granule = 8,
     .vgprs_per_wave = 255, .separate_agprs = false, .sgprs_per_simd = 0, .sgpr_granule = 0,
     .compute_units = 132, .compute_units_per_xcd = 132, .max_group_size = 1024,
     .memory_bytes = 143771 * kMib, .memory_bus_bits = 6144, .memory_clock_khz = 3201000, .clock_khz = 1980000,
     .l2_bytes = 51200 * kKib, .pci_device_id = 0x2335,
     .shared_cache_bytes = 51200 * kKib, .memory_gigabytes_per_second = 4800,
     .wall_clock_khz = 0, .integrated = false},
    {.name = "sm_100", .vendor = "nvidia", .family = "nvidia", .product = "NVIDIA B200", .target = "sm_100",
     .oldest_clang = 0,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 32, .queries_per_wave = 16,
     .lds_bytes_per_unit = 228 * kKib, .lds_bytes_per_group = 227 * kKib, .lds_granule = 128,
     .waves_per_simd = 16, .hip_waves_per_simd = 16, .vgprs_per_simd = 512, .vgpr_granule = 8,
     .vgprs_per_wave = 255, .separate_agprs = false, .sgprs_per_simd = 0, .sgpr_granule = 0,
     .compute_units = 148, .compute_units_per_xcd = 148, .max_group_size = 1024,
     .memory_bytes = 183359 * kMib, .memory_bus_bits = 8192, .memory_clock_khz = 3996000, .clock_khz = 1965000,
     .l2_bytes = 129024 * kKib, .pci_device_id = 0x2901,
     .shared_cache_bytes = 129024 * kKib, .memory_gigabytes_per_second = 8000,
     .wall_clock_khz = 0, .integrated = false},
    {.name = "sm_110", .vendor = "nvidia", .family = "nvidia", .product = "NVIDIA Jetson AGX Thor", .target = "sm_110",
     .oldest_clang = 0,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 32, .queries_per_wave = 16,
     .lds_bytes_per_unit = 228 * kKib, .lds_bytes_per_group = 227 * kKib, .lds_granule = 128,
     .waves_per_simd = 12, .hip_waves_per_simd = 12, .vgprs_per_simd = 512, .vgpr_granule = 8,
     .vgprs_per_wave = 255, .separate_agprs = false, .sgprs_per_simd = 0, .sgpr_granule = 0,
     .compute_units = 20, .compute_units_per_xcd = 20, .max_group_size = 1024,
     .memory_bytes = 125772 * kMib, .memory_bus_bits = 256, .memory_clock_khz = 4266000, .clock_khz = 1575000,
     .l2_bytes = 32768 * kKib, .pci_device_id = 0x2b00,
     .shared_cache_bytes = 32768 * kKib, .memory_gigabytes_per_second = 273,
     .wall_clock_khz = 0, .integrated = true},
    {.name = "sm_120", .vendor = "nvidia", .family = "nvidia", .product = "NVIDIA GeForce RTX 5090", .target = "sm_120",
     .oldest_clang = 0,
     .units_per_multiprocessor = 1, .simds_per_unit = 4, .lanes = 32, .queries_per_wave = 16,
     .lds_bytes_per_unit = 100 * kKib, .lds_bytes_per_group = 99 * kKib, .lds_granule = 128,
     .waves_per_simd = 12, .hip_waves_per_simd = 12, .vgprs_per_simd = 512, .vgpr_granule = 8,
     .vgprs_per_wave = 255, .separate_agprs = false, .sgprs_per_simd = 0, .sgpr_granule = 0,
     .compute_units = 170, .compute_units_per_xcd = 170, .max_group_size = 1024,
     .memory_bytes = 32607 * kMib, .memory_bus_bits = 512, .memory_clock_khz = 14001000, .clock_khz = 2407000,
     .l2_bytes = 98304 * kKib, .pci_device_id = 0x2b85,
     .shared_cache_bytes = 98304 * kKib, .memory_gigabytes_per_second = 1792,
     .wall_clock_khz = 0, .integrated = false},
};
// clang-format on

}  // namespace architectures

constexpr const Architecture* find_architecture(std::string_view name) {  // null: unknown
  for (const Architecture& a : architectures::kTable)
    if (a.name == name) return &a;
  return nullptr;
}

}  // namespace rapt
