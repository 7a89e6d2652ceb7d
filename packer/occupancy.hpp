// How many waves of a kernel a GPU runs at once.
#pragma once

#include "kernels/architectures.hpp"

namespace rapt::archive {

struct Occupancy {
  int by_registers;  // waves per SIMD that the registers allow
  int by_lds;        // workgroups that the LDS allows, INT_MAX without LDS
  int waves;         // waves per SIMD when whole workgroups fill a unit
};

// vgprs and sgprs as the metadata counts them: .vgpr_count holds both kinds where they share a file, and otherwise the
// larger of the two.
Occupancy occupancy(const Architecture& arch, int vgprs, int sgprs, int lds, int waves_per_group);

}  // namespace rapt::archive
