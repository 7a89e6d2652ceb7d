#include "sim/device/occupancy.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

unsigned align(unsigned value, unsigned granule) { return (value + granule - 1) / granule * granule; }

unsigned waves_per_simd(const Kernel& kernel, const Properties& p) {
  unsigned most = p.hip_waves_per_simd;
  unsigned file = p.vgprs_per_simd, granule = p.vgpr_granule;
  if (kernel.lanes > p.lanes) {  // a wave of 64 lanes on RDNA
    file /= 2;
    granule /= 2;
  }
  unsigned used = kernel.vgpr_count;  // includes the AGPRs where both share a file
  if (p.separate_agprs) used = std::max(used, kernel.agpr_count);
  if (used != 0) most = std::min(most, file / align(used, granule));
  if (p.sgprs_per_simd != 0 && kernel.sgpr_count != 0)
    most = std::min(most, p.sgprs_per_simd / align(kernel.sgpr_count, p.sgpr_granule));
  return most;
}

}  // namespace

unsigned groups_per_multiprocessor(const Kernel& kernel, const Properties& p, unsigned group_size,
                                   std::size_t dynamic_lds) {
  if (group_size == 0 || group_size > p.max_group_size) return 0;
  const unsigned units = on_one_unit(kernel, p) ? 1 : p.units_per_multiprocessor;
  const unsigned waves = waves_per_simd(kernel, p) * p.simds_per_unit * units;
  unsigned groups = waves / (align(group_size, kernel.lanes) / kernel.lanes);
  const std::size_t lds = kernel.descriptor.group_segment_fixed_size + dynamic_lds;
  if (lds != 0) groups = std::min<unsigned>(groups, static_cast<unsigned>(p.lds_bytes_per_unit * units / lds));
  return groups * (p.units_per_multiprocessor / units);
}

bool on_one_unit(const Kernel& kernel, const Properties& p) {
  constexpr std::uint32_t wgp_mode = 1U << 29;  // of COMPUTE_PGM_RSRC1 from gfx10 on
  return p.units_per_multiprocessor == 1 || (kernel.descriptor.compute_pgm_rsrc1 & wgp_mode) == 0;
}

}  // namespace rapt::sim
