// What can be said of a launch from its groups' lengths alone. These are instructions, which are cheap to count, so
// they can be known of more groups than are timed.
#pragma once

#include "sim/timing/plan.hpp"
#include "sim/timing/trace.hpp"

namespace rapt::sim::timing {

double length(const Traces& traces, std::uint64_t group);

// How long the plan's units are busy with its groups. Each instruction takes one clock while a unit has as many groups
// as at first. With fewer groups each one is faster, by what the others leave, and at most `alone` times as fast. more:
// instructions that each group has beside its own.
double busy_length(const Plan& plan, const Traces& traces, double alone = 1, double more = 0);

// The plan with the grid's first and last groups for its own if they are longer: where a few groups have more to do
// than all others, these often do.
Plan with_longer_ends(Plan plan, std::uint64_t groups, const Traces& traces);

}  // namespace rapt::sim::timing
