#include "sim/isa/constants.hpp"
#include "sim/isa/rdna/print.hpp"
#include "sim/isa/rdna/traits.hpp"
#include "sim/isa/rdna/vector.hpp"
#include "sim/isa/text.hpp"

namespace rapt::sim::rdna_isa {
namespace {

constexpr std::string_view multipliers[] = {"", "mul:2", "mul:4", "div:2"};

bool prints_op_sel(const Text& text) {
  return is_true16(text.row()) || text.is(trait::op_sel | trait::byte_select) || text.row().src[0] == Type::b8;
}

// A negated constant could be read as another constant, so it is written neg(1).
std::string with_sign(std::string operand, const Operand& source, bool neg, bool abs) {
  if (abs) operand = '|' + operand + '|';
  if (!neg) return operand;
  const bool needs_call = !abs && source.kind == OperandKind::constant && !operand.starts_with("lit(");
  return needs_call ? "neg(" + operand + ')' : '-' + operand;
}

}  // namespace

std::string source_text(const Text& text, unsigned index) {
  const Instruction& instruction = text.instruction();
  const Operand& source = instruction.src[index];
  const Type type = text.row().src[index];
  if ((index == 1 && text.is(trait::literal_src1)) || (index == 2 && text.is(trait::literal_src2))) {
    return text::hex(is_half(type) ? source.value | std::uint32_t{source.index} << 16 : source.value);
  }
  std::string out = operand_text(text.arch(), source, type);
  if (text.is(trait::splat) && source.kind == OperandKind::constant) {
    const Operand half{.kind = OperandKind::constant, .value = source.value & 0xffff};
    const bool splat = source.value == half.value * 0x10001;
    const bool readable = splat && inline_code(half.value, Type::f16);
    if (!source.literal) {
      out = operand_text(text.arch(), half, Type::f16);
    } else {
      out = readable ? "lit(" + text::hex(source.value) + ')' : text::hex(source.value);
    }
  }
  // The bits mean nothing for integer sources, unless v_cndmask passes them through.
  if (index == 1 && text.is(trait::integer_src1)) return out;
  if (text.row().src[2] != Type::mask && (!is_float(type) || text.row().dst == Type::pk_f32)) return out;
  return with_sign(std::move(out), source, (instruction.neg >> index & 1) != 0, (instruction.abs >> index & 1) != 0);
}

void print_lane_map(Text& text) {
  const Instruction& instruction = text.instruction();
  if (instruction.lane_map == LaneMap::none) return;
  const unsigned control = instruction.dpp_ctrl;
  const auto list = [](std::string_view name, unsigned value, unsigned bits, unsigned count) {
    std::string out(name);
    for (unsigned i = 0; i < count; ++i) {
      out += i == 0 ? ":[" : ",";
      out += std::to_string(value >> i * bits & ((1U << bits) - 1));
    }
    return out + ']';
  };
  if (instruction.lane_map == LaneMap::dpp8) {
    text.flag(list("dpp8", instruction.dpp8, 3, 8));
    text.flag("fi:1", instruction.fetch_inactive);
    return;
  }
  const std::string lanes = std::to_string(control & 15);
  switch (control >> 4) {
    case 0x10: text.flag("row_shl:" + lanes); break;
    case 0x11: text.flag("row_shr:" + lanes); break;
    case 0x12: text.flag("row_ror:" + lanes); break;
    case 0x14: text.flag(control == 0x140 ? "row_mirror" : "row_half_mirror"); break;
    case 0x15: text.flag("row_share:" + lanes); break;
    case 0x16: text.flag("row_xmask:" + lanes); break;
    default: text.flag(list("quad_perm", control, 2, 4)); break;
  }
  const auto hex_digit = [](unsigned value) { return std::string(1, "0123456789abcdef"[value]); };
  text.flag("row_mask:0x" + hex_digit(instruction.row_mask));
  text.flag("bank_mask:0x" + hex_digit(instruction.bank_mask));
  text.flag("bound_ctrl:1", instruction.bound_ctrl);
  text.flag("fi:1", instruction.fetch_inactive);
}

void print_vector(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  const bool implied_exec = row.format == Format::vopc && row.name.starts_with("v_cmpx");
  if (row.dst != Type::none && !implied_exec) text.operand(operand_text(text.arch(), instruction.dst, row.dst));
  if (row.dst2 != Type::none) text.operand(operand_text(text.arch(), instruction.dst2, row.dst2));
  for (unsigned i = 0; i < encoded_sources(row); ++i) text.operand(source_text(text, i));

  if (instruction.e64 || row.format == Format::vop3) {
    const unsigned count = encoded_sources(row) + (text.is(trait::reads_dst) ? 1 : 0);
    if (row.src[0] == Type::b8 || text.is(trait::byte_select)) {
      // The number of a source's byte has its bits reversed.
      const unsigned bits = instruction.op_sel;
      const unsigned byte = text.is(trait::byte_select) ? bits >> 2 : (bits >> 1 & 1) | (bits & 1) << 1;
      text.flag("byte_sel:" + std::to_string(byte), byte != 0);
    } else if (text.is(trait::fetch_control)) {
      text.bits("op_sel", instruction.op_sel, 2);
    } else if (prints_op_sel(text) && instruction.op_sel != 0 && row.src[2] != Type::mask) {
      const unsigned sources = instruction.op_sel & ((1U << count) - 1);
      // Comparisons also show a bit for a half of their destination, although they have none, but not with DPP.
      const bool plain = instruction.lane_map == LaneMap::none;
      const bool with_dst = row.dst != Type::mask || (plain && !implied_exec);
      text.bits("op_sel", with_dst ? sources | (instruction.op_sel >> 3) << count : sources,
                count + (with_dst ? 1 : 0));
    }
    text.flag("clamp", instruction.clamp);
    text.flag(multipliers[instruction.omod], instruction.omod != 0);
  }
  print_lane_map(text);
}

// LLVM takes gfx11's matrix C for doubles.
std::string matrix_constant_text(const Text& text, const Operand& source) {
  const Type shown = contains(gfx12, text.arch()) ? Type::f32 : Type::f64;
  const unsigned code = *inline_code(source.value, matrix_constant(text.row()));
  return operand_text(text.arch(), {.kind = OperandKind::constant, .value = *inline_constant(code, shown)}, shown);
}

void print_vop3p(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  const unsigned count = encoded_sources(row);
  const bool matrix = text.is(trait::matrix);
  const bool mix = text.is(trait::mix);
  text.operand(operand_text(text.arch(), instruction.dst, mix ? Type::f32 : row.dst));
  for (unsigned i = 0; i < count; ++i) {
    const Operand& operand = instruction.src[i];
    const bool half = mix && (operand.literal || (instruction.op_sel_hi >> i & 1) != 0);
    const bool constant = operand.kind == OperandKind::constant;
    std::string source = operand_text(text.arch(), operand, half && constant ? Type::f16 : row.src[i]);
    if (matrix && i == 2 && constant) source = matrix_constant_text(text, operand);
    if (mix) {
      const bool abs = (instruction.neg_hi >> i & 1) != 0;  // not packed: the bits mean this
      source = with_sign(std::move(source), operand, (instruction.neg >> i & 1) != 0, abs);
    }
    text.operand(source);
  }
  const bool integer_dot = text.is(trait::no_op_sel);
  if (text.is(trait::sparse)) {
    if (instruction.op_sel != 0) text.flag("index_key:" + std::to_string(instruction.op_sel));
  } else {
    text.bits("op_sel", instruction.op_sel, count);
  }
  const bool gfx12_matrix = matrix && contains(gfx12, text.arch());
  if (!gfx12_matrix && !integer_dot) text.bits("op_sel_hi", instruction.op_sel_hi, count, !mix);
  if (!mix) {
    text.bits("neg_lo", instruction.neg, count);
    text.bits("neg_hi", instruction.neg_hi, count);
  }
  text.flag("clamp", instruction.clamp);
  print_lane_map(text);
}

}  // namespace rapt::sim::rdna_isa
