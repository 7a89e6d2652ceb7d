// What a family of architectures supplies to decode(), print() and opcodes(): gfx9 (CDNA), gfx11 with gfx12 (RDNA).
#pragma once

#include "sim/isa/decode.hpp"
#include "sim/isa/opcode_index.hpp"

namespace rapt::sim {

using Table = std::span<const Opcode>;

struct Family {
  std::span<const Table> tables;  // rows of all its architectures, in the order of the listing
  // The words are at least one. `index` holds only the rows of mode.arch.
  std::optional<Instruction> (*decode)(DecodeMode mode, const OpcodeIndex& index, std::span<const std::uint32_t> words);
  std::string (*print)(DecodeMode mode, const Instruction& instruction);
};

const Family& gfx9_family();
const Family& gfx11_family();  // gfx11 and gfx12

}  // namespace rapt::sim
