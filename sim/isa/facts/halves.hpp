// The bits of its vector registers that an instruction reads and writes: the halves and bytes that types, op_sel, SDWA
// and names select. The checks of values and of waits share these facts.
#pragma once

#include "sim/isa/instruction.hpp"

namespace rapt::sim {

namespace halves {
inline constexpr unsigned lower = 1, upper = 2, both = 3;
}

// Whether an operand of the type takes half a register.
bool is_half(Type type);

// The bits of source n's register that are used; all bits of a source of several registers. Includes SDWA's selection.
std::uint32_t read_bits(const Instruction& instruction, unsigned n);

// How a VALU instruction changes the register that it writes. Bits that are in neither mask keep their value.
struct WrittenBits {
  std::uint32_t result = ~0U;  // bits of the result
  std::uint32_t cleared = 0;   // bits set to zero
  std::uint32_t kept() const { return ~(result | cleared); }
};
WrittenBits written_bits(const Instruction& instruction, Arch arch);

// The halves of a VGPR that the operands of a VALU instruction of gfx11 or later name.
unsigned read_halves(const Instruction& instruction, unsigned vgpr);
unsigned written_halves(const Instruction& instruction, unsigned vgpr);

// The halves of its data registers that a memory operation with components of 8 or 16 bits moves.
unsigned moved_halves(const Instruction& instruction, const Operand& data);

}  // namespace rapt::sim
