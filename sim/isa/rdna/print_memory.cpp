#include "sim/isa/rdna/print.hpp"
#include "sim/isa/rdna/traits.hpp"
#include "sim/isa/text.hpp"

namespace rapt::sim::rdna_isa {
namespace {

enum class Access : std::uint8_t { load, store, atomic };

Access access(const Opcode& row) {
  if (row.name.find("_atomic_") != std::string_view::npos) return Access::atomic;
  return row.name.find("_store_") != std::string_view::npos ? Access::store : Access::load;
}

constexpr unsigned scope_device = 2, scope_system = 3;

std::string atomic_hint(unsigned hint, unsigned scope) {
  constexpr unsigned returns = 1, non_temporal = 2, cascade = 4;
  if ((hint & cascade) != 0) {
    if (scope < scope_device) return "TH_ATOMIC_" + text::hex(hint);
    return (hint & non_temporal) != 0 ? "TH_ATOMIC_CASCADE_NT" : "TH_ATOMIC_CASCADE_RT";
  }
  if ((hint & non_temporal) != 0) return (hint & returns) != 0 ? "TH_ATOMIC_NT_RETURN" : "TH_ATOMIC_NT";
  return "TH_ATOMIC_RETURN";
}

// gfx12's cache policy (LLVM's AMDGPUUsage, "th" and "scope").
std::string temporal_hint(Access kind, unsigned hint, unsigned scope) {
  constexpr std::array<std::string_view, 8> names = {"", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB"};
  if (kind == Access::atomic) return atomic_hint(hint, scope);
  const bool store = kind == Access::store;
  if (hint == 7 && !store) return text::hex(hint);
  const std::string prefix = store ? "TH_STORE_" : "TH_LOAD_";
  if (hint == 3) return prefix + (scope == scope_system ? "BYPASS" : store ? "WB" : "LU");
  return prefix + std::string(names[hint]);
}

void print_policy(Text& text) {
  constexpr std::array<std::string_view, 4> scopes = {"", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS"};
  const Instruction& instruction = text.instruction();
  if (instruction.temporal_hint != 0) {
    text.flag("th:" + temporal_hint(access(text.row()), instruction.temporal_hint, instruction.scope));
  }
  if (instruction.scope != 0) text.flag(std::string("scope:").append(scopes[instruction.scope]));
  text.flag("nv", instruction.nv);
  text.flag("glc", instruction.glc);
  text.flag("slc", instruction.slc);
  text.flag("dlc", instruction.dlc);
}

void print_offset(Text& text) {
  if (text.instruction().offset != 0) text.flag("offset:" + std::to_string(text.instruction().offset));
}

void operand_if(Text& text, const Operand& operand) {
  if (operand.kind != OperandKind::none) text.operand(operand_text(text.arch(), operand, Type::b32));
}

void operand_or_off(Text& text, const Operand& operand) {
  if (operand.kind == OperandKind::none) {
    text.operand("off");
  } else {
    operand_if(text, operand);
  }
}

std::string signed_hex(std::int32_t value) {
  return value < 0 ? '-' + text::hex(static_cast<std::uint32_t>(-value)) : text::hex(static_cast<std::uint32_t>(value));
}

}  // namespace

void print_smem(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  if (row.src[1] == Type::none) return;
  const Operand& soffset = instruction.src[1];
  if (row.dst != Type::none) operand_if(text, instruction.dst);
  const bool probe = row.name.starts_with("s_atc_probe");
  const bool prefetch = !probe && row.dst == Type::none;
  if (probe) text.operand(small_or_hex(static_cast<unsigned>(instruction.immediate)));
  operand_if(text, instruction.src[0]);
  if (prefetch) {
    text.operand(signed_hex(instruction.offset));
    text.operand(soffset.kind == OperandKind::none ? "null" : operand_text(text.arch(), soffset, Type::b32));
    text.operand(std::to_string(instruction.immediate & 31));
    return;
  }
  if (soffset.kind == OperandKind::none && instruction.offset == 0 && !contains(gfx12, text.arch())) {
    text.operand("null");
  } else if (soffset.kind == OperandKind::none) {
    text.operand(signed_hex(instruction.offset));
  } else {
    operand_if(text, soffset);
    if (instruction.offset != 0 || contains(gfx12, text.arch())) text.flag("offset:" + signed_hex(instruction.offset));
  }
  print_policy(text);
}

void print_ds(Text& text) {
  const Instruction& instruction = text.instruction();
  operand_if(text, instruction.dst);
  for (unsigned i = 0; i < 3; ++i) operand_if(text, instruction.src[i]);
  if (text.is(trait::two_offsets)) {
    if (instruction.offset != 0) text.flag("offset0:" + std::to_string(instruction.offset));
    if (instruction.offset1 != 0) text.flag("offset1:" + std::to_string(instruction.offset1));
  } else if (text.row().name == "ds_swizzle_b32") {
    if (instruction.offset != 0) text.flag(gfx9::swizzle(static_cast<unsigned>(instruction.offset)));
  } else {
    print_offset(text);
  }
  text.flag("gds", instruction.gds);
}

void print_flat(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  operand_if(text, instruction.dst);
  if (row.src[0] != Type::none) operand_or_off(text, instruction.src[0]);
  operand_if(text, instruction.src[1]);
  if (row.format != Format::flat || instruction.src[2].kind != OperandKind::none) {
    if (row.src[2] != Type::none) operand_or_off(text, instruction.src[2]);
  }
  print_offset(text);
  print_policy(text);
}

void print_buffer(Text& text) {
  const Instruction& instruction = text.instruction();
  const Opcode& row = text.row();
  if (row.src[2] == Type::none) return;
  operand_if(text, row.src[1] != Type::none ? instruction.src[1] : instruction.dst);
  operand_or_off(text, instruction.src[0]);
  operand_if(text, instruction.src[2]);
  text.operand(operand_text(text.arch(), instruction.src[3], Type::b32));
  if (row.format == Format::mtbuf) {
    const std::string format = buffer_format(instruction.data_format);
    text.flag(format, !format.empty());
  }
  text.flag("idxen", instruction.idxen);
  text.flag("offen", instruction.offen);
  print_offset(text);
  print_policy(text);
  text.flag("tfe", instruction.tfe);
}

}  // namespace rapt::sim::rdna_isa
