#include "packer/occupancy.hpp"

#include <algorithm>
#include <climits>

namespace rapt::archive {

namespace {

int round_up(int value, unsigned granule) {
  const int step = static_cast<int>(granule);
  return (value + step - 1) / step * step;
}

}  // namespace

Occupancy occupancy(const Architecture& arch, int vgprs, int sgprs, int lds, int waves_per_group) {
  const int vgprs_of_simd = static_cast<int>(arch.vgprs_per_simd),
            sgprs_of_simd = static_cast<int>(arch.sgprs_per_simd);
  const int units = static_cast<int>(arch.units_per_multiprocessor);  // units that share their LDS
  const int simds = static_cast<int>(arch.simds_per_unit) * units;
  Occupancy o{static_cast<int>(arch.waves_per_simd), INT_MAX, 0};
  if (vgprs > 0) o.by_registers = std::min(o.by_registers, vgprs_of_simd / round_up(vgprs, arch.vgpr_granule));
  if (sgprs > 0 && sgprs_of_simd > 0)
    o.by_registers = std::min(o.by_registers, sgprs_of_simd / round_up(sgprs, arch.sgpr_granule));
  if (lds > 0) o.by_lds = static_cast<int>(arch.lds_bytes_per_unit) * units / round_up(lds, arch.lds_granule);
  const int groups = std::min(o.by_lds, o.by_registers * simds / waves_per_group);
  o.waves = groups * waves_per_group / simds;
  return o;
}

}  // namespace rapt::archive
