// The workgroup's barrier in its two halves, which s_barrier joins.
#pragma once

#include "sim/machine/core/wave.hpp"

namespace rapt::sim {

// Signals that this wave has arrived; true if it is the first one in the phase.
bool signal_barrier(Wave& wave);
// Makes the wave wait until the phase in which it signalled is complete.
void wait_barrier(Wave& wave);
// A wave that ends leaves the barrier.
void end_wave(Wave& wave);

}  // namespace rapt::sim
