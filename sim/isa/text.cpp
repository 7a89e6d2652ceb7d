#include "sim/isa/text.hpp"

#include "sim/isa/constants.hpp"

#include <cstdio>

namespace rapt::sim::text {
namespace {

constexpr std::array<std::string_view, 9> inline_floats = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                                           "-2.0", "4.0",  "-4.0", "0.15915494"};

std::string_view special(unsigned code) {
  switch (code) {
    case 235: return "src_shared_base";
    case 236: return "src_shared_limit";
    case 237: return "src_private_base";
    case 238: return "src_private_limit";
    case 239: return "src_pops_exiting_wave_id";
    case 251: return "src_vccz";
    case 252: return "src_execz";
    case 253: return "src_scc";
    default: return "src_lds_direct";
  }
}

// A register pair that has a name, or half of it.
std::string named_pair(std::string name, unsigned half, unsigned count) {
  if (count == 1) name += half == 0 ? "_lo" : "_hi";
  return name;
}

std::string inline_text(unsigned code, Type type) {
  if (code <= 192) return std::to_string(code - 128);
  if (code <= 208) return std::to_string(192 - static_cast<int>(code));
  if (is_integer16(type)) return hex(*inline_constant(code, type));  // not as a float
  if (code == 248 && inline_constant(code, type) > 0xffffffffU) return "0.15915494309189532";
  return std::string(inline_floats[code - 240]);
}

}  // namespace

std::string hex(std::uint64_t value) {
  std::array<char, 24> out{};
  std::snprintf(out.data(), out.size(), "0x%llx", static_cast<unsigned long long>(value));
  return out.data();
}

std::string count(std::uint64_t value) { return value <= 64 ? std::to_string(value) : hex(value); }

std::string registers(std::string_view file, unsigned first, unsigned count) {
  std::string out(file);
  if (count == 1) return out + std::to_string(first);
  return out + '[' + std::to_string(first) + ':' + std::to_string(first + count - 1) + ']';
}

std::string scalar(Arch arch, unsigned index, unsigned count) {
  if (index == sreg::null) return "null";
  if (index == sreg::m0) return "m0";
  if (index >= sreg::exec) return named_pair("exec", index - sreg::exec, count);
  if (index >= sreg::ttmp0) return registers("ttmp", index - sreg::ttmp0, count);
  if (index >= sreg::vcc) return named_pair("vcc", index - sreg::vcc, count);
  if (is_cdna(arch) && index >= sreg::xnack_mask) return named_pair("xnack_mask", index - sreg::xnack_mask, count);
  if (is_cdna(arch) && index >= sreg::flat_scratch)
    return named_pair("flat_scratch", index - sreg::flat_scratch, count);
  return registers("s", index, count);
}

std::string literal(std::uint32_t word, Type type) {
  if (type == Type::f64) {
    const std::optional<unsigned> code = inline_code(literal_constant(word, type), type);
    return code ? inline_text(*code, type) : hex(word);
  }
  const bool half = type == Type::f16 || type == Type::bf16;
  const bool integer16 = is_integer16(type);
  if (inline_code(half ? word & 0xffffU : word, integer16 ? Type::b32 : type)) return "lit(" + hex(word) + ')';
  return hex(type == Type::f16 || integer16 ? word & 0xffffU : word);
}

std::string constant(const Operand& operand, Type type) {
  if (operand.literal)
    return literal(static_cast<std::uint32_t>(type == Type::f64 ? operand.value >> 32 : operand.value), type);
  const bool whole = is_integer16(type) && operand.value > 0xffff;
  const std::optional<unsigned> code = inline_code(operand.value, whole ? Type::b32 : type);
  return code ? inline_text(*code, type) : hex(operand.value);
}

std::string operand(Arch arch, const Operand& operand, Type type) {
  switch (operand.kind) {
    case OperandKind::vgpr: return registers("v", operand.index, operand.dwords);
    case OperandKind::agpr: return registers("a", operand.index, operand.dwords);
    case OperandKind::sgpr: return scalar(arch, operand.index, operand.dwords);
    case OperandKind::constant: return constant(operand, type);
    case OperandKind::special: return std::string(special(operand.index));
    case OperandKind::none: break;
  }
  return {};
}

}  // namespace rapt::sim::text
