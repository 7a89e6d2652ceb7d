// The GPU architectures that kernels are compiled for, and what a kernel's resources cost there.
#pragma once

#include <span>
#include <string_view>

namespace rapt::archive {

struct Arch {
  std::string_view name;
  std::string_view vendor;  // whose metadata its code objects have, and the name of its block of the index
  int wave;                 // lanes
  int queries_per_wave;     // of one tile: the matrix instructions' columns
  int simds;                // that share the LDS: of a compute unit, on RDNA of a workgroup processor
  int max_waves;            // a SIMD
  int vgprs;                // a SIMD's file, in registers of one wave
  int vgpr_granule;
  int sgprs;                        // a SIMD's file; 0: enough for all waves
  int lds, lds_granule, lds_group;  // bytes of a unit, of one step, and the most that a workgroup can have
  int min_clang;
};

std::span<const Arch> arches();
const Arch* find_arch(std::string_view name);  // null: unknown

struct Occupancy {
  int by_registers;  // waves a SIMD that the registers allow
  int by_lds;        // workgroups that the LDS allows, INT_MAX without LDS
  int waves;         // waves a SIMD when whole workgroups fill a unit
};

// vgprs and sgprs as the metadata counts them: .vgpr_count holds both kinds where they share a file, and otherwise the
// larger of the two.
Occupancy occupancy(const Arch& arch, int vgprs, int sgprs, int lds, int waves_per_group);

}  // namespace rapt::archive
