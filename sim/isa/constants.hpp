// Inline constants: source codes 128 to 208 are the integers 0..64, -1..-16, codes 240 to 248 nine floats.
#pragma once

#include "sim/isa/opcode.hpp"

#include <optional>

namespace rapt::sim {

// The bits that an operand of the type sees for a source code; none if the code is not an inline constant. Halves and
// packed halves see a float in the low half, with zeros in the high one, or an integer sign-extended to 32 bits. Packed
// integers see a float in 32 bits (LLVM's getInlineEncodingV2F16 and ...V2I16).
std::optional<std::uint64_t> inline_constant(unsigned code, Type type);
// 16-bit operands that are not floats. On gfx9 they take the low half of a constant's 32 bits, which for a float are
// the f32's bits; on gfx11 and gfx12 they see the f16. (LLVM's getInlineEncodingV216, and AMD's account of the hardware
// in its pull request 198005.)
bool is_integer16(Type type);
// The inverse: the code for these bits.
std::optional<unsigned> inline_code(std::uint64_t bits, Type type);
// A literal dword as the operand sees it: the high half of an f64, sign-extended for i64, zero-extended for other
// 64-bit types.
std::uint64_t literal_constant(std::uint32_t literal, Type type);

}  // namespace rapt::sim
