// Pieces of assembly text that every family prints in the same way.
#pragma once

#include "sim/isa/instruction.hpp"

#include <string>

namespace rapt::sim::text {

// "v", 3, 1 -> "v3"; "v", 3, 2 -> "v[3:4]".
std::string registers(std::string_view file, unsigned first, unsigned count);
// A scalar operand by canonical number (sreg): "s[4:5]", "vcc_lo", "ttmp3", "exec".
std::string scalar(Arch arch, unsigned index, unsigned count);
// An inline constant as LLVM writes it in an operand of the type (1.0, -16), or a literal in hexadecimal.
std::string constant(const Operand& operand, Type type);
// A literal word as the operand's type shows it; "lit(0x5)" if the plain number would mean an inline constant.
std::string literal(std::uint32_t word, Type type);
// Register, constant or special source; `type` matters only for constants.
std::string operand(Arch arch, const Operand& operand, Type type);

std::string hex(std::uint64_t value);    // 0x1f
std::string count(std::uint64_t value);  // in decimal up to 64

}  // namespace rapt::sim::text
