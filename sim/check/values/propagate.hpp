// How undefined bits flow through an instruction that is not a memory access.
#pragma once

#include "sim/check/values/shadow_run.hpp"

namespace rapt::sim {

// The undefined bits of what the instruction (one half of a VOPD pair) writes, from its operands before it runs. The
// rules, from the most precise to the least: what only moves bits moves their shadow; bitwise logic as memcheck has it
// (a defined 0 decides an and); sums and products spread upwards; each half of a packed result from the halves it is
// made of; matrix products by row and column; of everything else a lane is undefined as a whole if any bit that it
// reads is.
std::vector<Undefined> propagate(ShadowRunner& runner, const Wave& wave, const Instruction& i, const Effects& e,
                                 const Shadow& shadow);

}  // namespace rapt::sim
