#include "sim/isa/gfx11/print.hpp"

#include "sim/isa/gfx11/traits.hpp"
#include "sim/isa/gfx11/vector.hpp"
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
  } else if (row.format == Format::vop3 && dpp) {
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
    if (row.src[i] != Type::mask) text.operand(operand_text(arch, half.src[i], row.src[i]));
  }
  return text.take();
}

}  // namespace

std::string operand_text(Arch arch, const Operand& operand, Type type) {
  if (operand.kind == OperandKind::special && operand.index < 235) {
    return operand.index == 230 ? "src_flat_scratch_base_lo" : "src_flat_scratch_base_hi";
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
    default: print_scalar(text); break;
  }
  return text.take();
}

}  // namespace rapt::sim::rdna_isa
