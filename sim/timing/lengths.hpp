// What can be said of a launch from its groups' lengths alone. These are instructions, which are cheap to count, so
// they can be known of more groups than are timed.
#pragma once

#include "sim/timing/plan.hpp"
#include "sim/timing/trace.hpp"

namespace rapt::sim::timing {

double length(const Traces& traces, std::uint64_t group);

// How long the plan's units are busy with its groups if each instruction takes as long while a unit has all groups that
// it has at first. With fewer, each group is faster: by as much as the others leave, and at most so many times as fast
// as `alone`. more: instructions that each group has beside its own.
double busy_length(const Plan& plan, const Traces& traces, double alone = 1, double more = 0);

// The plan with the grid's first and last groups for its own if they are longer: where a few groups have more to do
// than all others, these often do.
Plan with_longer_ends(Plan plan, std::uint64_t groups, const Traces& traces);

}  // namespace rapt::sim::timing
