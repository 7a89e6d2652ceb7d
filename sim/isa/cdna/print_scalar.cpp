#include "sim/isa/cdna/print.hpp"
#include "sim/isa/text.hpp"

namespace rapt::sim::gfx9 {
namespace {

unsigned immediate16(const Instruction& instruction) { return static_cast<std::uint16_t>(instruction.immediate); }

std::string waits(unsigned immediate) {
  const unsigned vm = (immediate & 15) | (immediate >> 14 & 3) << 4, exp = immediate >> 4 & 7,
                 lgkm = immediate >> 8 & 15;
  const bool none = vm == 63 && exp == 7 && lgkm == 15;  // waits for nothing: all are shown
  std::string out;
  const auto add = [&](std::string_view name, unsigned value, unsigned most) {
    if (value == most && !none) return;
    if (!out.empty()) out += ' ';
    out.append(name).append("(").append(std::to_string(value)).append(")");
  };
  add("vmcnt", vm, 63);
  add("expcnt", exp, 7);
  add("lgkmcnt", lgkm, 15);
  return out;
}

// How the immediate is printed: in hexadecimal, in decimal, as a small number, or not at all.
void sopp(Text& text) {
  const unsigned immediate = immediate16(text.instruction());
  const std::string_view name = text.row().name;
  if (name == "s_waitcnt") {
    text.operand(waits(immediate));
  } else if (name == "s_sendmsg" || name == "s_sendmsghalt") {
    text.operand(message(immediate));
  } else if (name == "s_set_gpr_idx_mode") {
    text.operand(index_mode(immediate));
  } else if (name.starts_with("s_cbranch") || name == "s_branch") {
    text.operand(std::to_string(immediate));
  } else if (name == "s_endpgm") {
    if (immediate != 0) text.operand(std::to_string(immediate));
  } else if (!text.is(trait::no_immediate)) {
    text.operand(text::count(immediate));
  }
}

void sopk(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  const std::string_view name = row.name;
  const unsigned immediate = immediate16(instruction);
  const bool sets = name.starts_with("s_setreg");
  if (sets) text.operand(hardware_register(text.arch(), immediate));
  if (name == "s_setreg_imm32_b32") {
    Operand value = instruction.src[0];
    value.literal = false;  // shown as if it could be an inline constant
    text.operand(value, Type::b32);
    return;
  }
  if (row.dst != Type::none) {
    text.operand(instruction.dst, row.dst);
  } else {
    text.operand(instruction.src[0], row.src[0]);
  }
  if (sets) return;
  if (name == "s_getreg_b32") {
    text.operand(hardware_register(text.arch(), immediate));
  } else if (name == "s_call_b64" || name == "s_cbranch_i_fork") {
    text.operand(std::to_string(immediate));
  } else {
    text.operand(text::hex(immediate));
  }
}

}  // namespace

void print_scalar(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  if (row.format == Format::sopp) return sopp(text);
  if (row.format == Format::sopk) return sopk(text);
  if (row.dst != Type::none) text.operand(instruction.dst, row.dst);
  for (unsigned i = 0; i < 2 && row.src[i] != Type::none; ++i) text.operand(instruction.src[i], row.src[i]);
  if (row.name == "s_set_gpr_idx_on") text.operand(index_mode(immediate16(instruction)));
}

void print_smem(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  if (row.name.starts_with("s_atc_probe")) {
    text.operand(text::count(instruction.immediate & 0x7f));
  } else if (row.src[2] != Type::none) {
    text.operand(instruction.src[2], row.src[2]);
  } else if (row.dst != Type::none) {
    text.operand(instruction.dst, row.dst);
  }
  if (row.src[0] == Type::none) return;
  text.operand(instruction.src[0], row.src[0]);
  const std::string offset =
      instruction.offset < 0 ? "-" + text::hex(-std::int64_t{instruction.offset}) : text::hex(instruction.offset);
  if (instruction.src[1].kind == OperandKind::none) {
    text.operand(offset);
  } else {
    text.operand(instruction.src[1], row.src[1]);
    text.flag("offset:" + offset, (instruction.immediate & 0x80) != 0);
  }
  text.flag("glc", instruction.glc);
}

}  // namespace rapt::sim::gfx9
