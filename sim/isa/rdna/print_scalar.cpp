#include "sim/isa/rdna/print.hpp"
#include "sim/isa/rdna/traits.hpp"
#include "sim/isa/text.hpp"

namespace rapt::sim::rdna_isa {
namespace {

void print_sopp(Text& text) {
  const std::string_view name = text.row().name;
  const auto immediate = static_cast<unsigned>(text.instruction().immediate) & 0xffff;
  const auto is = [&](auto... names) { return ((name == names) || ...); };
  if (text.is(trait::no_immediate)) return;
  if (name == "s_endpgm" && immediate == 0) return;
  if (is("s_waitcnt")) {
    text.flag(waits(immediate));
  } else if (is("s_delay_alu")) {
    text.operand(delays(immediate));
  } else if (is("s_waitcnt_depctr", "s_wait_alu")) {
    text.flag(dependency_counters(immediate));
  } else if (is("s_sendmsg", "s_sendmsghalt")) {
    text.operand(message(text.arch(), immediate));
  } else if (name.starts_with("s_branch") || name.starts_with("s_cbranch")) {
    text.operand(std::to_string(immediate));
  } else if (name.starts_with("s_wait_") ||
             is("s_set_inst_prefetch_distance", "s_clause", "s_round_mode", "s_ttracedata_imm")) {
    text.operand(text::hex(immediate));
  } else {
    text.operand(name == "s_endpgm" ? std::to_string(immediate) : small_or_hex(immediate));
  }
}

void print_sopk(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  const auto immediate = static_cast<unsigned>(instruction.immediate) & 0xffff;
  const bool set = row.name.starts_with("s_setreg");
  if (row.dst != Type::none) text.operand(instruction.dst, row.dst);
  if (row.name == "s_version") {
    text.operand(version(text.arch(), immediate));
    return;
  }
  if (!set && !text.is(trait::reads_dst) && row.src[0] != Type::none) text.operand(instruction.src[0], row.src[0]);
  if (set || row.name == "s_getreg_b32") {
    text.operand(hardware_register(text.arch(), immediate));
  } else if (row.name == "s_call_b64" || row.name.starts_with("s_subvector")) {
    text.operand(std::to_string(immediate));
  } else {
    text.operand(text::hex(immediate));
  }
  if (set)
    text.operand(text.is(trait::literal_src0) ? small_or_hex(static_cast<unsigned>(instruction.src[0].value))
                                              : operand_text(text.arch(), instruction.src[0], row.src[0]));
}

}  // namespace

void print_scalar(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  if (row.format == Format::sopp) return print_sopp(text);
  if (row.format == Format::sopk) return print_sopk(text);
  if (row.dst != Type::none) text.operand(instruction.dst, row.dst);
  const bool implied = text.is(trait::reads_dst);
  for (unsigned i = 0; i < 3 && row.src[i] != Type::none; ++i) {
    if (implied && row.src[i + 1] == Type::none) break;
    if ((i == 1 && text.is(trait::literal_src1)) || (i == 2 && text.is(trait::literal_src2))) {
      text.operand(text::hex(instruction.src[i].value));
      continue;
    }
    if (row.format == Format::sop1 && instruction.src[i].literal && row.src[i] == Type::f16) {
      text.operand(whole_literal(instruction.src[i]));
      continue;
    }
    const bool constant = row.src[i] == Type::f16 && row.format == Format::sopc;
    text.operand(operand_text(text.arch(), instruction.src[i], constant ? Type::u16 : row.src[i]));
  }
  if (row.format == Format::sop1 && row.src[0] == Type::none && row.name.starts_with("s_sendmsg")) {
    text.operand(message(text.arch(), static_cast<unsigned>(instruction.immediate)));
  }
}

}  // namespace rapt::sim::rdna_isa
