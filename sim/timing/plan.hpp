// The workgroups that stand for a launch. A few compute units of the first die are taken, each for an equal share of
// that die; the other dies do the same work. When a unit's group ends, the unit takes the next group of the die's
// queue. The queue moves on by the groups that the units behind it take meanwhile.
#pragma once

#include "sim/timing/chip.hpp"

#include <cstdint>
#include <vector>

namespace rapt::sim::timing {

// Where a workgroup is on RDNA's units, which have two compute units.
struct Placement {
  bool one_compute_unit = false;  // its waves are all on the same one
  unsigned lds_bytes = 0;
};

inline constexpr std::uint64_t crowd_instructions = 8192;
inline constexpr unsigned crowd_dies[] = {0, 1, 2, 4};

struct Plan {
  unsigned busy_units = 0, busy_units_of_die = 0;
  unsigned groups_per_unit = 0;  // resident at once
  std::uint64_t groups_of_die = 0;
  Placement placement;
  std::vector<std::vector<std::uint64_t>> first;  // for each unit taken, the groups that it begins with
  std::vector<std::uint64_t> next;                // the groups that these units take after that, in order
  std::vector<std::uint64_t> places;  // groups of the first die; the next ones are the other dies', to compare lengths
  // For each of crowd_dies that the chip has: the groups that are resident at first, unit by unit. Caches see the first
  // crowd_instructions of each wave, and all of the waves of `followed` groups (in ascending order).
  std::vector<std::vector<std::uint64_t>> crowds;
  std::vector<std::uint64_t> followed;

  std::vector<std::uint64_t> groups() const;  // all of `first` and `next`, in ascending order
  std::size_t most_at_first() const;          // of a unit
};

// groups: of the grid. most_groups: that are taken, about. The placement is left for the caller to set.
Plan make_plan(const Chip& chip, std::uint64_t groups, unsigned groups_per_unit, std::uint64_t most_groups);

}  // namespace rapt::sim::timing
