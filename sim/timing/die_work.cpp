#include "sim/timing/die_work.hpp"

#include <algorithm>
#include <cmath>

namespace rapt::sim::timing {
namespace {

double length(const Traces& traces, std::uint64_t group) { return static_cast<double>(traces.at(group).instructions); }

double mean_length(const Plan& plan, const Traces& traces) {
  const std::vector<std::uint64_t> timed = plan.timed();
  double sum = 0;
  for (const std::uint64_t group : timed) sum += length(traces, group);
  return sum / static_cast<double>(timed.size());
}

}  // namespace

double excess_of_slowest_die(const Chip& chip, const Plan& plan, const Traces& traces) {
  const double places = static_cast<double>(plan.places.size());
  double most = 0;
  for (unsigned die = 1; die < chip.dies && places > 1; ++die) {
    double sum = 0, squares = 0;
    for (const std::uint64_t first : plan.places) {
      const double difference = length(traces, first + die) - length(traces, first);
      sum += difference;
      squares += difference * difference;
    }
    const double mean = sum / places, variance = std::max(squares / places - mean * mean, 0.0) / (places - 1);
    most = std::max(most, mean - 4 * std::sqrt(variance));
  }
  return most == 0 ? 0 : std::min(1.0, most / mean_length(plan, traces));
}

}  // namespace rapt::sim::timing
