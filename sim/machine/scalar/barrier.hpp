// The workgroup's barrier in its two halves, which s_barrier joins.
#pragma once

#include "sim/machine/core/wave.hpp"

namespace rapt::sim {

// Says that this wave has come; true where it is the first of the phase.
bool signal_barrier(Wave& wave);
// Puts the wave to wait until the phase that it signalled is complete.
void wait_barrier(Wave& wave);
// A wave that ends no longer takes part.
void end_wave(Wave& wave);

}  // namespace rapt::sim
