#include "sim/isa/rdna/print.hpp"

#include "sim/isa/constants.hpp"

#include "sim/isa/rdna/traits.hpp"
#include "sim/isa/rdna/vector.hpp"
#include "sim/isa/text.hpp"

namespace rapt::sim::rdna_isa {
namespace {

bool has_short_form(Format format) {
  return format == Format::vop1 || format == Format::vop2 || format == Format::vopc;
}

std::string mnemonic(const Instruction& instruction) {
  const Opcode& row = *instruction.opcode;
  std::string out(row.name);
  const bool one_form = (row.traits & trait::no_e64) != 0 || row.dst == Type::none;
  const bool dpp = instruction.lane_map != LaneMap::none;
  if (has_short_form(row.format) && !one_form) {
    if (instruction.e64) {
      out += "_e64";
    } else if (!dpp) {
      out += "_e32";
    }
  } else if ((row.format == Format::vop3 || row.format == Format::vop3p) && dpp) {
    out += "_e64";
  }
  // The short DPP forms of comparisons have no suffix.
  if (dpp && (row.format != Format::vopc || instruction.e64)) out += "_dpp";
  return out;
}

std::string dual_half(Arch arch, const Instruction& half) {
  const Opcode& row = *half.opcode;
  Text text(arch, half, std::string(row.name));
  text.operand(operand_text(arch, half.dst, row.dst));
  for (unsigned i = 0; i < encoded_sources(row); ++i) {
    if (row.src[i] != Type::mask) text.operand(source_text(text, i));
  }
  return text.take();
}

// LLVM writes the lower half of a 16-bit literal, but the whole literal if that half could be taken for an inline
// constant; in integer operands, floats in hexadecimal.
std::string half_constant(const Operand& operand, Type type) {
  const auto low = static_cast<std::uint16_t>(operand.value);
  const std::optional<unsigned> code = inline_code(low, type);
  const bool integer = !is_float(type);
  const std::uint32_t literal = low | std::uint32_t{operand.index} << 16;
  constexpr unsigned last_integer_code = 208;
  if (!operand.literal) return integer && *code > last_integer_code ? text::hex(low) : text::constant(operand, type);
  if (integer) {
    const auto value = static_cast<std::int32_t>(literal);
    return value >= -16 && value <= 64 ? "lit(" + text::hex(literal) + ')' : text::hex(low);
  }
  return code ? "lit(" + text::hex(literal) + ')' : text::hex(low);
}

}  // namespace

std::string whole_literal(const Operand& operand) {
  const std::uint64_t value = (operand.value & 0xffff) | std::uint64_t{operand.index} << 16;
  return text::constant({.kind = OperandKind::constant, .literal = true, .value = value}, Type::b32);
}

std::string operand_text(Arch arch, const Operand& operand, Type type) {
  if (operand.kind == OperandKind::constant && is_half(type)) return half_constant(operand, type);
  if (operand.literal && type == Type::b8) return whole_literal(operand);
  if (operand.literal && type == Type::f64) {
    const std::optional<unsigned> code = inline_code(operand.value, type);
    if (code) return text::operand(arch, {.kind = OperandKind::constant, .value = operand.value}, type);
  }
  std::string out = text::operand(arch, operand, type);
  if (operand.kind == OperandKind::vgpr && is_half(type)) out += operand.high ? ".h" : ".l";
  return out;
}

std::string print(DecodeMode mode, const Instruction& instruction) {
  if (instruction.dual) {
    return dual_half(mode.arch, instruction) + " :: " + dual_half(mode.arch, *instruction.dual);
  }
  Text text(mode.arch, instruction, mnemonic(instruction));
  switch (instruction.opcode->format) {
    case Format::smem: print_smem(text); break;
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3: print_vector(text); break;
    case Format::vop3p: print_vop3p(text); break;
    case Format::ds: print_ds(text); break;
    case Format::flat:
    case Format::global:
    case Format::scratch: print_flat(text); break;
    case Format::mubuf:
    case Format::mtbuf: print_buffer(text); break;
    case Format::unsupported: break;
    default: print_scalar(text); break;
  }
  return text.take();
}

}  // namespace rapt::sim::rdna_isa
