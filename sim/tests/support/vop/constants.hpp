// What the inline constants (codes 128 to 208 and 240 to 248) and a literal stand for in a source of a vector
// operation: the bits that a register would have to hold instead. LLVM's assembler is asked for the type that an
// operand's constants have, by which of 1.0's encodings it takes for 1.0; what no assembler knows is written in
// bits_of_constant() with its source.
#pragma once

#include "sim/tests/support/vop/forms.hpp"

namespace rapt::sim::test {

// How LLVM's assembler reads a float constant of the operand.
enum class ConstantType : std::uint8_t {
  none,     // the operand takes no constant
  integer,  // 1.0 but none of its encodings: operands of 16-bit integers
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
// For each form what each of its sources takes, in their order.
std::vector<std::vector<ConstantUse>> constant_uses(Arch arch, const std::vector<VopForm>& forms);

// LLVM's FeatureMFMAInlineLiteralBug: gfx908 gets a constant C wrong. No assembler writes one.
bool has_wrong_constants(const VopForm& form);

// All codes of inline constants.
const std::vector<unsigned>& inline_codes();
std::string name_of_constant(unsigned code);

// The dwords that a register in the constant's place holds: one, or two for operands of 64 bits, repeated over a
// matrix.
using Bits = std::vector<std::uint32_t>;
Bits bits_of_constant(const VopForm& form, const VopSource& source, ConstantType type, unsigned code);
Bits bits_of_literal(const VopForm& form, const VopSource& source, std::uint32_t literal);

}  // namespace rapt::sim::test
