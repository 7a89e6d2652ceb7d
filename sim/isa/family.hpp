// What a family of architectures supplies to decode(), print() and opcodes(): gfx9 (CDNA), or gfx11 and gfx12 (RDNA).
// Also the predicates on types that both use.
#pragma once

#include "sim/isa/decode.hpp"
#include "sim/isa/opcode_index.hpp"

namespace rapt::sim {

using Table = std::span<const Opcode>;

struct Family {
  std::span<const Table> tables;  // rows of all its architectures, in the order of the listing
  // There is at least one word. `index` holds only the rows of mode.arch.
  std::optional<Instruction> (*decode)(DecodeMode mode, const OpcodeIndex& index, std::span<const std::uint32_t> words);
  std::string (*print)(DecodeMode mode, const Instruction& instruction);
};

// Types that take neg, abs and omod; packed ones too.
constexpr bool is_float(Type type) {
  switch (type) {
    case Type::f16:
    case Type::bf16:
    case Type::f32:
    case Type::f64:
    case Type::pk_f16:
    case Type::pk_bf16:
    case Type::pk_f32: return true;
    default: return false;
  }
}

const Family& gfx9_family();
const Family& gfx11_family();  // gfx11 and gfx12

}  // namespace rapt::sim
