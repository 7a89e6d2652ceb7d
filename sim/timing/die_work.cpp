#include "sim/timing/die_work.hpp"

#include "sim/timing/lengths.hpp"

#include <algorithm>
#include <cmath>

namespace rapt::sim::timing {
namespace {

// How much more of `number`, which groups have, a die's groups have than the first's.
template <typename Number>
double more_than_first(const Plan& plan, unsigned die, Number&& number) {
  const double places = static_cast<double>(plan.places.size());
  double sum = 0, squares = 0;
  for (const std::uint64_t first : plan.places) {
    const double difference = number(first + die) - number(first);
    sum += difference;
    squares += difference * difference;
  }
  const double mean = sum / places, variance = std::max(squares / places - mean * mean, 0.0) / (places - 1);
  return mean - 4 * std::sqrt(variance);
}

}  // namespace

double excess_of_slowest_die(const Chip& chip, const Plan& plan, const Traces& traces) {
  double most = 0;
  for (unsigned die = 1; die < chip.dies && !plan.places.empty(); ++die)
    most = std::max(most, more_than_first(plan, die, [&](std::uint64_t group) { return length(traces, group); }));
  return std::min(1.0, busy_length(plan, traces, 1, most) / busy_length(plan, traces) - 1);
}

double memory_clocks(const Chip& chip, const Plan& plan, const Traces& traces, const Service& service, double first_die,
                     const Shares& unit) {
  if (plan.places.empty()) return first_die;
  const auto lines = [&](std::uint64_t group) { return static_cast<double>(traces.at(group).lines); };
  std::vector<double> touched(chip.dies);  // by a group of each die
  for (unsigned die = 0; die < chip.dies; ++die)
    for (const std::uint64_t first : plan.places)
      touched[die] += lines(first + die) / static_cast<double>(plan.places.size());
  // What is known of the crowd whose groups touch as many lines.
  const auto memory_share = [&](unsigned die) {
    const auto difference = [&](std::size_t crowd) { return std::abs(touched[crowd_dies[crowd]] - touched[die]); };
    std::size_t like = 0;
    for (std::size_t crowd = 1; crowd < plan.crowds.size(); ++crowd)
      if (difference(crowd) < difference(like)) like = crowd;
    return service.memory_share(like);
  };
  const double groups_of_unit = static_cast<double>(plan.groups_of_die) / plan.busy_units_of_die;
  double sum = first_die;
  for (unsigned die = 1; die < chip.dies; ++die) {
    const bool same = more_than_first(plan, die, lines) <= 0;
    sum += same ? first_die : groups_of_unit * touched[die] * memory_share(die) * chip.line_bytes / unit.memory;
  }
  return sum / chip.dies;
}

}  // namespace rapt::sim::timing
