// Whether the dies get the same work. Where the tile index is fastest in a causal grid and a multiple of the dies, each
// die has tiles of other lengths, and the launch ends with the slowest one. All dies share the memory.
#pragma once

#include "sim/timing/memory_path.hpp"
#include "sim/timing/plan.hpp"
#include "sim/timing/trace.hpp"

namespace rapt::sim::timing {

// Both compare the groups of all dies at the plan's places. Four times the differences' standard error is taken off, so
// groups that differ in no order are not mistaken for dies that do.

// How much longer the slowest die takes than the first, as a fraction, at most 1. Lengths are instructions, which say
// little of the time of groups that do next to nothing.
double excess_of_slowest_die(const Chip& chip, const Plan& plan, const Traces& traces);

// The clocks for which memory is busy with the launch. first_die: the clocks if all dies did what the first does. unit:
// a unit's share of the bandwidth while all are busy.
double memory_clocks(const Chip& chip, const Plan& plan, const Traces& traces, const Service& service, double first_die,
                     const Shares& unit);

}  // namespace rapt::sim::timing
