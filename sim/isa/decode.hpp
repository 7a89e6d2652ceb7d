// Decodes words to instructions and prints instructions as LLVM does.
#pragma once

#include "sim/isa/instruction.hpp"

#include <optional>
#include <span>
#include <string>

namespace rapt::sim {

struct DecodeMode {
  Arch arch;
  unsigned lanes;  // 32 or 64: the width of lane masks
};

// Decodes the instruction that begins at words[0]; none if the words are not an instruction, or end too early.
std::optional<Instruction> decode(DecodeMode mode, std::span<const std::uint32_t> words);

// The text that llvm-objdump of LLVM 22 prints for it (with true 16-bit registers from gfx11 on), with a space instead
// of the tab after the mnemonic: "v_add_f32_e32 v0, v1, v2".
std::string print(DecodeMode mode, const Instruction& instruction);

// Every row of the architecture's tables, for listings and tests.
std::span<const Opcode> opcodes(Arch arch);

}  // namespace rapt::sim
