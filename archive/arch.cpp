#include "archive/arch.hpp"

#include <algorithm>
#include <climits>

namespace rapt::archive {

namespace {

// gfx908 has AGPRs in a second file of the same size; from gfx90a on, both kinds share one.
constexpr Arch kArches[] = {
    {"gfx908", "amd", 64, 32, 4, 8, 256, 4, 800, 65536, 512, 65536, 19},
    {"gfx90a", "amd", 64, 32, 4, 8, 512, 8, 800, 65536, 512, 65536, 19},
    {"gfx942", "amd", 64, 32, 4, 8, 512, 8, 800, 65536, 512, 65536, 19},
    {"gfx950", "amd", 64, 32, 4, 8, 512, 8, 800, 163840, 1280, 163840, 20},
    {"gfx1100", "amd", 32, 16, 4, 16, 1536, 24, 0, 131072, 512, 65536, 19},
    {"gfx1151", "amd", 32, 16, 4, 16, 1536, 24, 0, 131072, 512, 65536, 19},
    {"gfx1201", "amd", 32, 16, 4, 16, 1536, 24, 0, 131072, 512, 65536, 19},
};

int round_up(int value, int granule) { return (value + granule - 1) / granule * granule; }

}  // namespace

std::span<const Arch> arches() { return kArches; }

const Arch* find_arch(std::string_view name) {
  const auto* found = std::ranges::find(kArches, name, &Arch::name);
  return found == std::end(kArches) ? nullptr : found;
}

Occupancy occupancy(const Arch& arch, int vgprs, int sgprs, int lds, int waves_per_group) {
  Occupancy o{arch.max_waves, INT_MAX, 0};
  if (vgprs > 0) o.by_registers = std::min(o.by_registers, arch.vgprs / round_up(vgprs, arch.vgpr_granule));
  if (sgprs > 0 && arch.sgprs > 0) o.by_registers = std::min(o.by_registers, arch.sgprs / round_up(sgprs, 16));
  if (lds > 0) o.by_lds = arch.lds / round_up(lds, arch.lds_granule);
  const int groups = std::min(o.by_lds, o.by_registers * arch.simds / waves_per_group);
  o.waves = groups * waves_per_group / arch.simds;
  return o;
}

}  // namespace rapt::archive
