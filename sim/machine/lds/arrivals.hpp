// Loads to LDS write it when their wave waits for them: the latest moment that the ISA allows. On hardware memory is
// slow, and shipping kernels (including AMD's own attention) rely on it: a wave that runs ahead loads the next tile
// while others still read the previous one. CDNA3 ISA 4.4: vmcnt falls in the order of issue.
#pragma once

#include "sim/machine/core/wave.hpp"

namespace rapt::sim {

// Completes all loads except those among the `outstanding` youngest memory operations.
void arrive_in_lds(Wave& wave, unsigned outstanding);

// The wave has begun a load of these words. vmcnt counts to 63: the oldest must arrive before more can begin.
void defer_to_lds(Wave& wave, std::vector<LdsArrival::Word> words);

}  // namespace rapt::sim
