// How undefined bits flow through an instruction that is not a memory access.
#pragma once

#include "sim/check/values/shadow_run.hpp"

namespace rapt::sim {

// The undefined bits of what the instruction (one half of a VOPD pair) writes, from its operands before it runs. The
// rules, from the most precise to the least: Operations that only move bits move their shadow. Bitwise logic is as in
// memcheck (a defined 0 decides an and). Sums and products spread upwards. Each half of a packed result depends on the
// halves that it is computed from. Matrix products go by row and column. For everything else, a lane is wholly
// undefined if any bit that it reads is.
std::vector<Undefined> propagate(ShadowRunner& runner, const Wave& wave, const Instruction& i, const Effects& e,
                                 const Shadow& shadow);

}  // namespace rapt::sim
