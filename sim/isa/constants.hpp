// Inline constants: source codes 128 to 208 are the integers 0..64, -1..-16, codes 240 to 248 nine floats.
#pragma once

#include "sim/isa/opcode.hpp"

#include <optional>

namespace rapt::sim {

// The bits that an operand of the type sees for a source code: of a half, or of packed halves, the constant in the low
// half, nothing in the high one, but an integer sign-extended to 32 bits and, for packed integers, a float in 32 bits
// (LLVM's getInlineEncodingV2F16 and ...V2I16); none for a code that is no inline constant.
std::optional<std::uint64_t> inline_constant(unsigned code, Type type);
// 16-bit operands that are not floats. gfx9 gives them a constant's 32 bits, of a float those of the f32, and they take
// the low half (LLVM's getInlineEncodingV216, and AMD's account of the hardware in its pull request 198005); gfx11 and
// gfx12 give them the f16.
bool is_integer16(Type type);
// Back from the bits to the code.
std::optional<unsigned> inline_code(std::uint64_t bits, Type type);
// A literal dword as the operand sees it: high half of an f64, sign-extended to i64, zero-extended to other 64-bit
// types.
std::uint64_t literal_constant(std::uint32_t literal, Type type);

}  // namespace rapt::sim
