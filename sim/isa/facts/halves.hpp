// Which halves of a VGPR an instruction of gfx11 and later names: its 16-bit operands are halves of registers.
#pragma once

#include "sim/isa/instruction.hpp"

namespace rapt::sim {

namespace halves {
inline constexpr unsigned lower = 1, upper = 2, both = 3;
}

// Whether an operand of the type takes half a register.
bool is_half(Type type);

unsigned read_halves(const Instruction& instruction, unsigned vgpr);
unsigned written_halves(const Instruction& instruction, unsigned vgpr);

}  // namespace rapt::sim
