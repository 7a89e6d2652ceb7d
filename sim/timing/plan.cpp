#include "sim/timing/plan.hpp"

#include <algorithm>

namespace rapt::sim::timing {
namespace {

// Workgroups go to the dies in turn, and on a die to the units in turn.
std::uint64_t groups_of_die(const Chip& chip, std::uint64_t groups, unsigned die) {
  return groups > die ? (groups - die - 1) / chip.dies + 1 : 0;
}
std::uint64_t number(const Chip& chip, unsigned die, std::uint64_t of_die) { return of_die * chip.dies + die; }

}  // namespace

Plan make_plan(const Chip& chip, std::uint64_t groups, unsigned groups_per_unit, std::uint64_t most_groups) {
  Plan plan;
  plan.groups_per_unit = groups_per_unit;
  const std::uint64_t of_die = groups_of_die(chip, groups, 0);
  const std::uint64_t resident = std::min<std::uint64_t>(of_die, std::uint64_t{chip.units_per_die} * groups_per_unit);
  plan.busy_units_of_die = static_cast<unsigned>(std::min<std::uint64_t>(of_die, chip.units_per_die));
  plan.busy_units =
      static_cast<unsigned>(std::min<std::uint64_t>(groups, std::uint64_t{chip.units_per_die} * chip.dies));

  const std::uint64_t per_unit = (of_die + plan.busy_units_of_die - 1) / plan.busy_units_of_die;
  const std::uint64_t units =
      std::clamp<std::uint64_t>(most_groups / std::max<std::uint64_t>(per_unit, 1), 1, plan.busy_units_of_die);
  plan.first.resize(units);
  for (std::uint64_t u = 0; u < units; ++u) {
    const std::uint64_t unit = u * plan.busy_units_of_die / units;
    for (std::uint64_t n = unit; n < resident; n += plan.busy_units_of_die) plan.first[u].push_back(number(chip, 0, n));
  }
  for (std::uint64_t k = 0;; ++k) {
    const std::uint64_t n = resident + k * plan.busy_units_of_die / units;
    if (n >= of_die) break;
    plan.next.push_back(number(chip, 0, n));
  }

  plan.crowds.resize(std::min<std::uint64_t>(std::min(chip.dies, 2U), groups));
  for (unsigned die = 0; die < plan.crowds.size(); ++die)
    for (std::uint64_t n = 0; n < std::min(resident, groups_of_die(chip, groups, die)); ++n)
      plan.crowds[die].push_back(number(chip, die, n));
  return plan;
}

}  // namespace rapt::sim::timing
