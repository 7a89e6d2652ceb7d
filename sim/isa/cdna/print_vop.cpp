#include "sim/isa/cdna/decode.hpp"
#include "sim/isa/cdna/print.hpp"
#include "sim/isa/text.hpp"

namespace rapt::sim::gfx9 {
namespace {

bool bit(unsigned bits, unsigned n) { return (bits >> n & 1) != 0; }

void source(Text& text, unsigned i) {
  const Instruction& instruction = text.instruction();
  const Operand& operand = instruction.src[i];
  const Type type = constant_type(text.row(), i, instruction.op_sel_hi);
  const auto literal = static_cast<std::uint32_t>(instruction.immediate);  // all its bits, used or not
  std::string out = text::operand(text.arch(), operand, type);
  if (operand.literal) {
    // A literal that is part of the operation cannot be mistaken for an inline constant.
    const bool mandatory = text.is(trait::no_e64) && i == (text.row().name[5] == 'm' ? 1U : 2U);
    out = mandatory ? text::hex(literal) : text::literal(literal, type);
  }
  if (bit(instruction.abs, i)) out = '|' + out + '|';
  if (bit(instruction.sext, i)) out = "sext(" + out + ')';
  if (bit(instruction.neg, i)) {
    // A minus sign before a number would be read as part of it.
    const bool ambiguous = operand.kind == OperandKind::constant && !bit(instruction.abs, i);
    out = ambiguous ? "neg(" + out + ')' : '-' + out;
  }
  text.operand(out);
}

std::string dpp_control(unsigned control) {
  if (control < 0x100) {
    std::string lanes = "quad_perm";
    for (unsigned i = 0; i < 4; ++i) lanes.append(i == 0 ? ":[" : ",").append(std::to_string(control >> 2 * i & 3));
    return lanes + ']';
  }
  const std::string amount = std::to_string(control & 15);
  switch (control >> 4) {
    case 0x10: return "row_shl:" + amount;
    case 0x11: return "row_shr:" + amount;
    case 0x12: return "row_ror:" + amount;
    case 0x15: return "row_newbcast:" + amount;
    default: break;
  }
  switch (control) {
    case 0x130: return "wave_shl:1";
    case 0x134: return "wave_rol:1";
    case 0x138: return "wave_shr:1";
    case 0x13c: return "wave_ror:1";
    case 0x140: return "row_mirror";
    case 0x141: return "row_half_mirror";
    case 0x142: return "row_bcast:15";
    default: return "row_bcast:31";
  }
}

void output_modifiers(Text& text) {
  constexpr std::array<std::string_view, 4> omod = {"", "mul:2", "mul:4", "div:2"};
  const Instruction& instruction = text.instruction();
  text.flag("clamp", instruction.clamp);
  text.flag(omod[instruction.omod], instruction.omod != 0);
}

void dpp(Text& text) {
  const Instruction& instruction = text.instruction();
  text.flag(dpp_control(instruction.dpp_ctrl));
  text.flag("row_mask:" + text::hex(instruction.row_mask));
  text.flag("bank_mask:" + text::hex(instruction.bank_mask));
  text.flag("bound_ctrl:1", instruction.bound_ctrl);
}

void sdwa(Text& text, unsigned sources) {
  constexpr std::array<std::string_view, 7> select = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                      "WORD_0", "WORD_1", "DWORD"};
  constexpr std::array<std::string_view, 3> unused = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  const Instruction& instruction = text.instruction();
  const auto flag = [&](std::string name, std::string_view value) { text.flag(name.append(value)); };
  if (text.row().format != Format::vopc && text.row().src[0] != Type::pk_fp8) {
    flag("dst_sel:", select[static_cast<unsigned>(instruction.dst_sel)]);
    flag("dst_unused:", unused[static_cast<unsigned>(instruction.dst_unused)]);
  }
  flag("src0_sel:", select[static_cast<unsigned>(instruction.src_sel[0])]);
  if (sources == 2) flag("src1_sel:", select[static_cast<unsigned>(instruction.src_sel[1])]);
}

// op_sel of VOP3: one bit per source, the destination's last.
void op_sel(Text& text, unsigned sources) {
  const unsigned field = text.instruction().op_sel;
  const unsigned listed = text.is(trait::op_sel_src2) ? 3 : sources;
  text.bits("op_sel", (field & ((1U << listed) - 1)) | (field >> 3 & 1) << listed, listed + 1);
}

}  // namespace

void print_vop(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  if (row.dst == Type::none) return;  // v_nop
  text.operand(instruction.dst, row.dst);
  if (row.dst2 != Type::none) text.operand(instruction.dst2, row.dst2);
  const unsigned sources = encoded_sources(row);
  for (unsigned i = 0; i < sources; ++i) source(text, i);
  if (instruction.lane_map == LaneMap::dpp16) return dpp(text);
  if (text.is(trait::truth_table)) {
    const auto bits = static_cast<unsigned>(instruction.immediate);
    const std::string table = bits <= 10 ? std::to_string(bits) : text::hex(bits);
    text.flag("bitop3:" + table, instruction.immediate != 0);
  }
  if (text.is(trait::fetch_control)) {
    text.flag("bound_ctrl:1", instruction.bound_ctrl);
    text.flag("fi:1", instruction.fetch_inactive);
  }
  op_sel(text, sources);
  output_modifiers(text);
  if (instruction.lane_map == LaneMap::sdwa) sdwa(text, row.src[1] == Type::none ? 1 : 2);
}

void print_vop3p(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  const bool mix = is_mix(row);
  if (row.dst != Type::none) text.operand(instruction.dst, row.dst);
  const unsigned sources = encoded_sources(row);
  for (unsigned i = 0; i < sources; ++i) {
    if (mix) {
      source(text, i);
    } else {
      text.operand(instruction.src[i], row.src[i]);
    }
  }
  if (!text.is(trait::no_op_sel | trait::acc_dst | trait::acc_src0)) {
    text.bits("op_sel", instruction.op_sel, sources);
    text.bits("op_sel_hi", instruction.op_sel_hi, sources, !mix);
  }
  if (!mix) {
    text.bits("neg_lo", instruction.neg, sources);
    text.bits("neg_hi", instruction.neg_hi, sources);
  }
  text.flag("clamp", instruction.clamp);
}

void print_matrix(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  text.operand(instruction.dst, row.dst);
  const Type constant = row.src[0] == Type::f64 ? Type::f64 : Type::f32;
  for (unsigned i = 0; i < 3; ++i) text.operand(instruction.src[i], constant);
  const bool scaled = row.src[3] != Type::none;
  if (scaled) {
    text.operand(instruction.src[3], row.src[3]);
    text.operand(instruction.src[4], row.src[4]);
    // LLVM prints a third source, which does not exist.
    text.bits("op_sel", instruction.op_sel, 3);
    text.bits("op_sel_hi", instruction.op_sel_hi, 3, true);
  }
  const auto number = [&](std::string name, unsigned value) { text.flag(name + std::to_string(value), value != 0); };
  number("cbsz:", instruction.cbsz);
  if (!scaled) number("abid:", instruction.abid);
  number("blgp:", instruction.blgp);
  text.bits("neg", instruction.neg, 3);
}

}  // namespace rapt::sim::gfx9
