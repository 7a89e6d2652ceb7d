// Register and memory contents in which it shows what an instruction's bits do.
#pragma once

#include "sim/tests/support/instructions/any_scene.hpp"

namespace rapt::sim::test {

// All registers, memory, EXEC and modes anew. `kind`, any number, chooses the type that most numbers make sense in, and
// whether registers are often equal.
void fill_with_numbers(MachineState& state, Target target, unsigned kind, std::mt19937& random);

// Only SGPRs, EXEC and SCC.
void fill_scalars(MachineState& state, Target target, unsigned kind, std::mt19937& random);

// Puts what an instruction's constants and immediates are compared with into some lanes of its other operands, and
// makes some lanes of a comparison's sources alike.
void meet_constants(MachineState& state, Target target, const Instruction& instruction, std::mt19937& random);

}  // namespace rapt::sim::test
