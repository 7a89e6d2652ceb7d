// Whether the dies get the same work. Where the tile index is fastest in a causal grid and a multiple of the dies, each
// die has tiles of other lengths, and the launch ends with the slowest one.
#pragma once

#include "sim/timing/plan.hpp"
#include "sim/timing/trace.hpp"

namespace rapt::sim::timing {

// How much longer the slowest die takes than the first, as a fraction, at most 1: from the groups of all dies at the
// plan's places. Lengths are instructions, which say little of the time of groups that do
// next to nothing. Four times the differences' standard error is taken off, so lengths that follow no order are not
// mistaken for such a grid.
double excess_of_slowest_die(const Chip& chip, const Plan& plan, const Traces& traces);

}  // namespace rapt::sim::timing
