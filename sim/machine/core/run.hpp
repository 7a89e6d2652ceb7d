// The interpreter's loop.
#pragma once

#include "sim/machine/core/workgroup.hpp"

#include <cstdint>

namespace rapt::sim {

// Runs one wave for at most `budget` instructions, or until it waits, sleeps or ends. Returns how many instructions
// ran. Throws Fault with the kernel, the instruction and the wave in its text.
std::uint64_t run_wave(Wave& wave, std::uint64_t budget);

}  // namespace rapt::sim
