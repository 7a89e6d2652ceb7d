#include "sim/timing/accuracy.hpp"

#include <algorithm>
#include <array>

namespace rapt::sim::timing {
namespace {

// The rows "all" of the first table of docs/performance/amd-time.md, by its column that holds about nine rows in ten.
// What is published of Radeons (ranges of attention kernels, not of these code objects) is 1.1 to 1.9 times the
// forecast time; the other chips have no times at all.
constexpr double unmeasured = 0.5;
constexpr std::array accuracies{
    Accuracy{.chip = "mi300x", .rows = 23, .geometric_mean = 0.98, .within = 0.15, .share = 0.91},
    Accuracy{.chip = "mi308x", .rows = 208, .geometric_mean = 1.11, .within = 0.15, .share = 0.93},
    Accuracy{.chip = "mi355x", .rows = 200, .geometric_mean = 0.99, .within = 0.15, .share = 0.94},
};

}  // namespace

Accuracy accuracy_of(const Chip& chip) {
  const auto found =
      std::find_if(accuracies.begin(), accuracies.end(), [&](const Accuracy& a) { return a.chip == chip.name; });
  if (found != accuracies.end()) return *found;
  return {.chip = chip.name, .rows = 0, .geometric_mean = 1, .within = unmeasured, .share = 0};
}

}  // namespace rapt::sim::timing
