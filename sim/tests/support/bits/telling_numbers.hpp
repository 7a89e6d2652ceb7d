// Register and memory contents that reveal the effects of an instruction's bits.
#pragma once

#include "sim/tests/support/instructions/any_scene.hpp"

namespace rapt::sim::test {

// Sets all registers, memory, EXEC and modes. `kind`, any number, chooses the type in which most numbers make sense,
// and whether registers are often equal.
void fill_with_numbers(MachineState& state, Target target, unsigned kind, std::mt19937& random);

// Only SGPRs, EXEC and SCC.
void fill_scalars(MachineState& state, Target target, unsigned kind, std::mt19937& random);

// Puts values that match an instruction's constants and immediates into some lanes of its other operands, and makes
// some lanes of a comparison's sources equal.
void meet_constants(MachineState& state, Target target, const Instruction& instruction, std::mt19937& random);

}  // namespace rapt::sim::test
