#include "sim/isa/cdna/print.hpp"
#include "sim/isa/text.hpp"

namespace rapt::sim::gfx9 {
namespace {

void cache_bits(Text& text) {
  const Instruction& instruction = text.instruction();
  const bool gfx94 = text.arch() == Arch::gfx942 || text.arch() == Arch::gfx950;
  text.flag(gfx94 ? "sc0" : "glc", instruction.glc);
  text.flag(gfx94 ? "nt" : "slc", instruction.slc);
  text.flag(gfx94 ? "sc1" : "scc", instruction.scc);
}

void offset(Text& text, std::int32_t value) { text.flag("offset:" + std::to_string(value), value != 0); }

// A register, or "off" if a part of the address is left out.
void address(Text& text, const Operand& operand) {
  if (operand.kind == OperandKind::none) {
    text.operand("off");
  } else {
    text.operand(operand, Type::b32);
  }
}

}  // namespace

void print_ds(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  if (row.dst != Type::none) text.operand(instruction.dst, row.dst);
  for (unsigned i = 0; i < 3; ++i) {
    if (row.src[i] != Type::none) text.operand(instruction.src[i], row.src[i]);
  }
  if (text.is(trait::two_offsets)) {
    text.flag("offset0:" + std::to_string(instruction.offset), instruction.offset != 0);
    text.flag("offset1:" + std::to_string(instruction.offset1), instruction.offset1 != 0);
  } else if (row.name == "ds_swizzle_b32") {
    const std::string pattern = swizzle(static_cast<unsigned>(instruction.offset));
    text.flag(pattern, !pattern.empty());
  } else {
    offset(text, instruction.offset);
  }
  // gfx90a and later have no GDS: LLVM does not print the bit, and the machine refuses it.
  text.flag("gds", instruction.gds && contains(before_gfx90a, text.arch()));
}

void print_flat(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  if (instruction.dst.kind != OperandKind::none) text.operand(instruction.dst, row.dst);
  address(text, instruction.src[0]);
  if (row.src[1] != Type::none) text.operand(instruction.src[1], row.src[1]);
  if (row.format != Format::flat) address(text, instruction.src[2]);
  offset(text, row.format == Format::flat ? instruction.immediate : instruction.offset);
  cache_bits(text);
  text.flag("lds", instruction.lds && !text.is(trait::to_lds));
}

void print_buffer(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  if (row.src[2] == Type::none) return cache_bits(text);
  if (row.src[1] != Type::none) {
    text.operand(instruction.src[1], row.src[1]);
  } else if (instruction.dst.kind != OperandKind::none) {
    text.operand(instruction.dst, row.dst);
  }
  const bool from_lds = row.src[0] == Type::none;  // buffer_store_lds_dword
  if (!from_lds) address(text, instruction.src[0]);
  text.operand(instruction.src[2], row.src[2]);
  text.operand(instruction.src[3], row.src[3]);
  if (row.format == Format::mtbuf) {
    const std::string format = buffer_format(instruction.data_format, instruction.number_format);
    text.flag(format, !format.empty());
  }
  text.flag("idxen", instruction.idxen);
  text.flag("offen", instruction.offen);
  offset(text, instruction.offset);
  text.flag("lds", from_lds);
  cache_bits(text);
  text.flag("tfe", instruction.tfe);
  text.flag("lds", instruction.lds && !from_lds);
}

}  // namespace rapt::sim::gfx9
