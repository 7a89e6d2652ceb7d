#include "sim/timing/lengths.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace rapt::sim::timing {
namespace {

// A unit's resident groups; all have the same pace.
class CountedUnit {
 public:
  CountedUnit(double full, double alone) : full_(full), alone_(alone) {}

  bool empty() const { return ends_.empty(); }
  std::size_t size() const { return ends_.size(); }
  void start(double length) { ends_.push(done_ + length); }
  double next_end() const { return now_ + (ends_.top() - done_) / pace(); }
  void end_shortest() {
    now_ = next_end();
    done_ = ends_.top();
    ends_.pop();
  }

 private:
  double pace() const { return std::min(alone_, full_ / static_cast<double>(ends_.size())); }

  double full_, alone_;
  double now_ = 0, done_ = 0;  // time, and what each group has done that has been here since time 0
  std::priority_queue<double, std::vector<double>, std::greater<>> ends_;  // at which value of done_
};

}  // namespace

double length(const Traces& traces, std::uint64_t group) { return static_cast<double>(traces.at(group).instructions); }

double busy_length(const Plan& plan, const Traces& traces, double alone, double more) {
  std::vector<CountedUnit> units(plan.first.size(), CountedUnit(static_cast<double>(plan.most_at_first()), alone));

  using End = std::pair<double, std::size_t>;  // of a unit's shortest group, and the unit
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (const std::uint64_t group : plan.first[u]) units[u].start(length(traces, group) + more);
    if (!units[u].empty()) ends.emplace(units[u].next_end(), u);
  }
  double last = 0;
  for (auto next = plan.next.begin(); !ends.empty();) {
    last = ends.top().first;
    std::vector<CountedUnit*> freed;
    std::size_t places = 0;
    for (; !ends.empty() && ends.top().first == last; ends.pop()) {
      freed.push_back(&units[ends.top().second]);
      do {
        freed.back()->end_shortest();
        ++places;
      } while (!freed.back()->empty() && freed.back()->next_end() <= last);
    }
    // Where many places become free at the same time, the next groups are spread over the units.
    for (; places != 0 && next != plan.next.end(); --places)
      (*std::min_element(freed.begin(), freed.end(), [](const CountedUnit* a, const CountedUnit* b) {
        return a->size() < b->size();
      }))->start(length(traces, *next++) + more);
    for (const CountedUnit* unit : freed)
      if (!unit->empty()) ends.emplace(unit->next_end(), unit - units.data());
  }
  return last;
}

Plan with_longer_ends(Plan plan, std::uint64_t groups, const Traces& traces) {
  const auto take = [&](std::uint64_t& own, std::uint64_t end) {
    if (length(traces, end) > length(traces, own)) own = end;
  };
  take(plan.first.front().front(), 0);
  take(plan.next.empty() ? plan.first.back().back() : plan.next.back(), groups - 1);
  return plan;
}

}  // namespace rapt::sim::timing
