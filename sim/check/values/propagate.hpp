// How undefined bits flow through an instruction that is not a memory access.
#pragma once

#include "sim/check/values/shadow_run.hpp"

namespace rapt::sim {

// The undefined bits of what the instruction (one half of a VOPD pair) writes, from its operands before it runs. The
// rules, from the most precise to the least: operations that only move bits move their shadow; bitwise logic is as in
// memcheck (a defined 0 decides an and); sums and products spread upwards; each half of a packed result depends on the
// halves that it is computed from; matrix products go by row and column; for everything else, a lane is wholly
// undefined if any bit that it reads is.
std::vector<Undefined> propagate(ShadowRunner& runner, const Wave& wave, const Instruction& i, const Effects& e,
                                 const Shadow& shadow);

}  // namespace rapt::sim
