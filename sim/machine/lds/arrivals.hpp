// Loads straight to LDS write it when their wave waits for them: the latest moment that the ISA allows. Memory answers
// late on the product, and shipping kernels (AMD's own attention among them) count on it: a wave that runs ahead asks
// for the next tile while others still read the last one. CDNA3 ISA 4.4: vmcnt falls in the order of issue.
#pragma once

#include "sim/machine/core/wave.hpp"

namespace rapt::sim {

// Writes what is no longer among the `outstanding` youngest memory operations.
void arrive_in_lds(Wave& wave, unsigned outstanding);

// The wave has begun a load of these words. vmcnt counts to 63: before more can begin, the oldest has arrived.
void defer_to_lds(Wave& wave, std::vector<LdsArrival::Word> words);

}  // namespace rapt::sim
