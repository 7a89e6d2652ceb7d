#include "sim/timing/lengths.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace rapt::sim::timing {

double length(const Traces& traces, std::uint64_t group) { return static_cast<double>(traces.at(group).instructions); }

double busy_length(const Plan& plan, const Traces& traces, double more) {
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;  // of the groups that are resident
  double last = 0;
  const auto start = [&](double at, std::uint64_t group) {
    const double end = at + length(traces, group) + more;
    ends.push(end);
    last = std::max(last, end);
  };
  for (const auto& unit : plan.first)
    for (const std::uint64_t group : unit) start(0, group);
  for (const std::uint64_t group : plan.next) {
    const double at = ends.top();
    ends.pop();
    start(at, group);
  }
  return last;
}

}  // namespace rapt::sim::timing
