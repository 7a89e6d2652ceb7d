// The meaning of the inline constants (codes 128 to 208 and 240 to 248) and of a literal in a source of a vector
// operation: the bits that a register would hold instead. LLVM's assembler tells the type of an operand's constants, by
// the encoding that it reads as 1.0. What no assembler knows is in bits_of_constant(), with its source.
#pragma once

#include "sim/tests/support/vop/forms.hpp"

namespace rapt::sim::test {

// How LLVM's assembler reads a float constant of the operand.
enum class ConstantType : std::uint8_t {
  none,     // the operand takes no constant
  integer,  // 1.0 but none of its encodings: 16-bit integer operands
  f16,
  bf16,
  f32,
  f64,
  f16_twice,  // the constant in both halves
};

struct ConstantUse {
  ConstantType type = ConstantType::none;
  bool literal = false;  // the operand takes a literal too
};
// For each form, what its sources accept, in order.
std::vector<std::vector<ConstantUse>> constant_uses(Arch arch, const std::vector<VopForm>& forms);

// LLVM's FeatureMFMAInlineLiteralBug: gfx908 gets a constant C wrong. No assembler writes one.
bool has_wrong_constants(const VopForm& form);

// All codes of inline constants.
const std::vector<unsigned>& inline_codes();
std::string name_of_constant(unsigned code);

// The dwords of a register in place of the constant: one, or two for 64-bit operands, repeated over a
// matrix.
using Bits = std::vector<std::uint32_t>;
Bits bits_of_constant(const VopForm& form, const VopSource& source, ConstantType type, unsigned code);
Bits bits_of_literal(const VopForm& form, const VopSource& source, std::uint32_t literal);

}  // namespace rapt::sim::test
