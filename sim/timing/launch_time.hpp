// The forecast of a launch's time from the traces of the groups in its plan.
#pragma once

#include "sim/timing/compute_unit.hpp"
#include "sim/timing/plan.hpp"

#include <string>

namespace rapt::sim::timing {

struct Forecast {
  double microseconds = 0;
  double clocks = 0;                          // of the slowest die's compute units, without the launch itself
  double slowest_die = 0;                     // how much longer it takes than the first, as a fraction
  double clock_mhz = 0;                       // under this load
  double matrix_share = 0, vector_share = 0;  // of the clocks, that the timed units' matrix and vector units were busy
  std::array<double, level_count> levels{};   // of the lines that missed L1, the share of each level
  std::uint64_t timed_groups = 0, groups = 0, instructions = 0;
  double sample_error =
      0;  // of the counted groups' mean length, as a fraction: one standard error; 0: none is left out
  std::vector<SlotTime> slots;
  std::array<double, stall_count> stalls{};  // of the time of the timed waves, the share of each cause
  Timeline timeline;                         // of the first timed unit
};

// One line, for people.
std::string summary(const Forecast& forecast);

// counted: a larger sample of the launch, whose lengths alone are known.
Forecast forecast(const Chip& chip, const Program& program, const Plan& plan, const Plan& counted, std::uint64_t groups,
                  const Traces& traces);

}  // namespace rapt::sim::timing
