// Which bits of its vector registers an instruction reads and writes, where that is not all of them: the halves and
// bytes that types, op_sel, SDWA and names choose. The checks of values and of waits share these facts.
#pragma once

#include "sim/isa/instruction.hpp"

namespace rapt::sim {

namespace halves {
inline constexpr unsigned lower = 1, upper = 2, both = 3;
}

// Whether an operand of the type takes half a register.
bool is_half(Type type);

// The bits of source n's register that count; of a source of several registers all. SDWA's selection is among them.
std::uint32_t read_bits(const Instruction& instruction, unsigned n);

// What becomes of the register that a VALU instruction writes. What is neither stays as it was.
struct WrittenBits {
  std::uint32_t result = ~0U;  // where the result is
  std::uint32_t cleared = 0;   // where zeros come
  std::uint32_t kept() const { return ~(result | cleared); }
};
WrittenBits written_bits(const Instruction& instruction, Arch arch);

// Those of a VGPR that the operands of a VALU instruction of gfx11 or later name.
unsigned read_halves(const Instruction& instruction, unsigned vgpr);
unsigned written_halves(const Instruction& instruction, unsigned vgpr);

// Those of its data registers that a memory operation of 8 or 16 bits a component moves.
unsigned moved_halves(const Instruction& instruction, const Operand& data);

}  // namespace rapt::sim
