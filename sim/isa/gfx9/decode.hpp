// Decoding of gfx9's words: decode() finds the format, one function a group of formats does the rest.
#pragma once

#include "sim/isa/family.hpp"

namespace rapt::sim::gfx9 {

std::optional<Instruction> decode(DecodeMode mode, const OpcodeIndex& index, std::span<const std::uint32_t> words);

}  // namespace rapt::sim::gfx9
