#include "sim/timing/die_work.hpp"

#include "sim/timing/lengths.hpp"

#include <algorithm>
#include <cmath>

namespace rapt::sim::timing {

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
  return std::min(1.0, busy_length(plan, traces, 1, most) / busy_length(plan, traces) - 1);
}

}  // namespace rapt::sim::timing
