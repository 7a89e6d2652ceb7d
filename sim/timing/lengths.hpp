// What can be said of a launch from its groups' lengths alone. These are instructions, which are cheap to count, so
// they can be known of more groups than are timed.
#pragma once

#include "sim/timing/plan.hpp"
#include "sim/timing/trace.hpp"

namespace rapt::sim::timing {

double length(const Traces& traces, std::uint64_t group);

// How long the plan's units are busy with its groups if each instruction takes as long, and if each group has so many
// more of them.
double busy_length(const Plan& plan, const Traces& traces, double more = 0);

}  // namespace rapt::sim::timing
