// gfx9's assembly text, one function a group of formats.
#pragma once

#include "sim/isa/instruction.hpp"
#include "sim/isa/decode.hpp"

namespace rapt::sim::gfx9 {

std::string print(DecodeMode mode, const Instruction& instruction);

}  // namespace rapt::sim::gfx9
