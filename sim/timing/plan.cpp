#include "sim/timing/plan.hpp"

#include <algorithm>
#include <cmath>

namespace rapt::sim::timing {
namespace {

// Workgroups go to the dies in turn, and on a die to the units in turn.
std::uint64_t groups_of_die(const Chip& chip, std::uint64_t groups, unsigned die) {
  return groups > die ? (groups - die - 1) / chip.dies + 1 : 0;
}
std::uint64_t number(const Chip& chip, unsigned die, std::uint64_t of_die) { return of_die * chip.dies + die; }

// In [0, 1). Multiples of an irrational number spread evenly (Kronecker's sequence). This one is 1 / p^2 with p^3 = p +
// 1. No other usual number represents the lengths of causal grids as well: for 96 groups the mean is within 1.7 % in
// nine of ten grids, with the golden ratio within 2.2.
double spread(std::uint64_t k) {
  const double part = static_cast<double>(k) * 0.5698402909980532;
  return part - std::floor(part);
}

// The k-th group that one of `timed` units takes, out of the groups that `units` take meanwhile. Not always the first
// one: lengths that repeat, as with causal masks, would be in step with the choice.
std::uint64_t taken(std::uint64_t k, std::uint64_t units, std::uint64_t timed) {
  const double step = static_cast<double>(units) / static_cast<double>(timed);
  return static_cast<std::uint64_t>(step * (static_cast<double>(k) + spread(k)));
}

}  // namespace

std::vector<std::uint64_t> Plan::groups() const {
  std::vector<std::uint64_t> groups = next;
  for (const auto& unit : first) groups.insert(groups.end(), unit.begin(), unit.end());
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::size_t Plan::most_at_first() const {
  std::size_t most = 1;
  for (const auto& unit : first) most = std::max(most, unit.size());
  return most;
}

Plan make_plan(const Chip& chip, std::uint64_t groups, unsigned groups_per_unit, std::uint64_t most_groups) {
  Plan plan;
  plan.groups_per_unit = groups_per_unit;
  const std::uint64_t of_die = plan.groups_of_die = groups_of_die(chip, groups, 0);
  const std::uint64_t resident = std::min<std::uint64_t>(of_die, std::uint64_t{chip.units_per_die} * groups_per_unit);
  plan.busy_units_of_die = static_cast<unsigned>(std::min<std::uint64_t>(of_die, chip.units_per_die));
  plan.busy_units =
      static_cast<unsigned>(std::min<std::uint64_t>(groups, std::uint64_t{chip.units_per_die} * chip.dies));

  const std::uint64_t per_unit = (of_die + plan.busy_units_of_die - 1) / plan.busy_units_of_die;
  const std::uint64_t units =
      std::clamp<std::uint64_t>(most_groups / std::max<std::uint64_t>(per_unit, 1), 1, plan.busy_units_of_die);
  plan.first.resize(units);
  for (std::uint64_t u = 0; u < units; ++u) {
    // The middle one of the units that it stands for: the first ones would have the longest groups of a causal mask.
    const std::uint64_t unit = (2 * u + 1) * plan.busy_units_of_die / (2 * units);
    for (std::uint64_t n = unit; n < resident; n += plan.busy_units_of_die) plan.first[u].push_back(number(chip, 0, n));
  }
  for (std::uint64_t k = 0;; ++k) {
    const std::uint64_t n = resident + taken(k, plan.busy_units_of_die, units);
    if (n >= of_die) break;
    plan.next.push_back(number(chip, 0, n));
  }

  // The last, incomplete round may be so small that none of its groups was taken.
  const bool queue = of_die > resident;
  const std::uint64_t last = of_die - 1, round = last - last % (queue ? resident : plan.busy_units_of_die);
  if (plan.groups().back() < number(chip, 0, round))
    (queue ? plan.next : plan.first[0]).push_back(number(chip, 0, last));

  plan.followed = plan.groups();

  constexpr std::uint64_t most_places = 8;
  const std::uint64_t of_last_die = groups_of_die(chip, groups, chip.dies - 1);
  if (chip.dies > 1 && of_last_die >= most_places)
    for (std::uint64_t k = 0; k < most_places; ++k)
      plan.places.push_back(number(chip, 0, static_cast<std::uint64_t>(static_cast<double>(of_last_die) * spread(k))));

  for (const unsigned die : crowd_dies) {
    if (die >= std::min<std::uint64_t>(chip.dies, groups)) break;
    auto& crowd = plan.crowds.emplace_back();
    for (std::uint64_t n = 0; n < std::min(resident, groups_of_die(chip, groups, die)); ++n)
      crowd.push_back(number(chip, die, n));
  }
  return plan;
}

}  // namespace rapt::sim::timing
