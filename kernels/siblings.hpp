// GPUs that run another architecture's code objects, because they have the same instructions. They differ in units,
// clocks and memory, and some have fewer registers. An ELF header names one processor, so an archive's code object is
// renamed before it is loaded (rename_code.hpp).
//
// Sources: LLVM's AMDGPUUsage has the ELF machine numbers, and its AMDGPU.td the features: gfx1102, gfx1103, gfx1150,
// gfx1152 and gfx1153 lack "1_5xVGPRs", so that a SIMD has 1024 VGPRs in granules of 16. AMD's product pages have
// units, clocks, memory and Infinity Caches; libdrm's amdgpu.ids the PCI numbers. An APU has the fastest LPDDR5X that
// its product page names; that 16 GiB of it are the GPU's is assumed. Without an Infinity Cache, L2 is the cache
// nearest to memory.
#pragma once

#include <array>

#include "kernels/architectures.hpp"

namespace rapt {

struct Sibling {
  std::string_view name;     // "gfx1101"
  std::string_view code;     // the architecture whose code objects it runs: "gfx1100"
  unsigned elf_machine;      // EF_AMDGPU_MACH
  std::string_view product;  // "AMD Radeon RX 7800 XT"
  unsigned compute_units, clock_khz, l2_kib, pci_device_id;
  unsigned memory_mib, memory_bus_bits, memory_clock_khz, memory_gigabytes_per_second;
  unsigned infinity_cache_mib;  // 0: none
  unsigned vgprs_per_simd, vgpr_granule;
  bool integrated;
};

namespace architectures {

// clang-format off
inline constexpr std::array kSiblings = {
    Sibling{.name = "gfx1101", .code = "gfx1100", .elf_machine = 0x46, .product = "AMD Radeon RX 7800 XT",
            .compute_units = 60, .clock_khz = 2430000, .l2_kib = 4096, .pci_device_id = 0x747e,
            .memory_mib = 16368, .memory_bus_bits = 256, .memory_clock_khz = 1219000, .memory_gigabytes_per_second = 624,
            .infinity_cache_mib = 64, .vgprs_per_simd = 1536, .vgpr_granule = 24, .integrated = false},
    Sibling{.name = "gfx1102", .code = "gfx1100", .elf_machine = 0x47, .product = "AMD Radeon RX 7600",
            .compute_units = 32, .clock_khz = 2655000, .l2_kib = 2048, .pci_device_id = 0x7480,
            .memory_mib = 8176, .memory_bus_bits = 128, .memory_clock_khz = 1125000, .memory_gigabytes_per_second = 288,
            .infinity_cache_mib = 32, .vgprs_per_simd = 1024, .vgpr_granule = 16, .integrated = false},
    Sibling{.name = "gfx1103", .code = "gfx1100", .elf_machine = 0x44, .product = "AMD Radeon 780M",
            .compute_units = 12, .clock_khz = 2700000, .l2_kib = 2048, .pci_device_id = 0x15bf,
            .memory_mib = 16384, .memory_bus_bits = 128, .memory_clock_khz = 937000, .memory_gigabytes_per_second = 120,
            .infinity_cache_mib = 0, .vgprs_per_simd = 1024, .vgpr_granule = 16, .integrated = true},
    Sibling{.name = "gfx1150", .code = "gfx1151", .elf_machine = 0x43, .product = "AMD Radeon 890M",
            .compute_units = 16, .clock_khz = 2900000, .l2_kib = 2048, .pci_device_id = 0x150e,
            .memory_mib = 16384, .memory_bus_bits = 128, .memory_clock_khz = 1000000, .memory_gigabytes_per_second = 128,
            .infinity_cache_mib = 0, .vgprs_per_simd = 1024, .vgpr_granule = 16, .integrated = true},
    Sibling{.name = "gfx1152", .code = "gfx1151", .elf_machine = 0x55, .product = "AMD Radeon 860M",
            .compute_units = 8, .clock_khz = 3000000, .l2_kib = 1024, .pci_device_id = 0x1114,  // L2: assumed
            .memory_mib = 16384, .memory_bus_bits = 128, .memory_clock_khz = 1000000, .memory_gigabytes_per_second = 128,
            .infinity_cache_mib = 0, .vgprs_per_simd = 1024, .vgpr_granule = 16, .integrated = true},
    Sibling{.name = "gfx1153", .code = "gfx1151", .elf_machine = 0x58, .product = "AMD Radeon 820M",
            .compute_units = 2, .clock_khz = 2800000, .l2_kib = 1024, .pci_device_id = 0x1902,  // L2, PCI: assumed
            .memory_mib = 16384, .memory_bus_bits = 128, .memory_clock_khz = 1000000, .memory_gigabytes_per_second = 128,
            .infinity_cache_mib = 0, .vgprs_per_simd = 1024, .vgpr_granule = 16, .integrated = true},
    Sibling{.name = "gfx1200", .code = "gfx1201", .elf_machine = 0x48, .product = "AMD Radeon RX 9060 XT",
            .compute_units = 32, .clock_khz = 3130000, .l2_kib = 4096, .pci_device_id = 0x7590,
            .memory_mib = 16304, .memory_bus_bits = 128, .memory_clock_khz = 1258000, .memory_gigabytes_per_second = 320,
            .infinity_cache_mib = 32, .vgprs_per_simd = 1536, .vgpr_granule = 24, .integrated = false},
};
// clang-format on

constexpr Architecture architecture_of(const Sibling& s) {
  Architecture a = *find_architecture(s.code);
  a.name = a.target = s.name;
  a.product = s.product;
  a.compute_units = a.compute_units_per_xcd = s.compute_units;
  a.clock_khz = s.clock_khz;
  a.l2_bytes = s.l2_kib * kKib;
  a.pci_device_id = s.pci_device_id;
  a.memory_bytes = s.memory_mib * kMib;
  a.memory_bus_bits = s.memory_bus_bits;
  a.memory_clock_khz = s.memory_clock_khz;
  a.memory_gigabytes_per_second = s.memory_gigabytes_per_second;
  a.shared_cache_bytes = s.infinity_cache_mib > 0 ? s.infinity_cache_mib * 1024 * kKib : a.l2_bytes;
  a.vgprs_per_simd = s.vgprs_per_simd;
  a.vgpr_granule = s.vgpr_granule;
  a.integrated = s.integrated;
  return a;
}

inline constexpr auto kSiblingTable = [] {
  std::array<Architecture, kSiblings.size()> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = architecture_of(kSiblings[i]);
  return all;
}();

}  // namespace architectures

// The facts of a GPU, be it a sibling or not; null: unknown.
constexpr const Architecture* find_gpu(std::string_view name) {
  for (const Architecture& a : architectures::kSiblingTable)
    if (a.name == name) return &a;
  return find_architecture(name);
}

constexpr const Sibling* find_sibling(std::string_view name) {  // null: it has code objects of its own, or is unknown
  for (const Sibling& s : architectures::kSiblings)
    if (s.name == name) return &s;
  return nullptr;
}

// The architecture whose code objects and archive a GPU uses.
constexpr std::string_view code_of(std::string_view gpu) {
  const Sibling* const sibling = find_sibling(gpu);
  return sibling ? sibling->code : gpu;
}

}  // namespace rapt
