#include "sim/isa/cdna/reader.hpp"

#include "sim/isa/constants.hpp"

namespace rapt::sim::gfx9 {
namespace {

constexpr unsigned sgpr_count = 102;

// Named registers form pairs and do not mix with the numbered ones.
bool is_scalar_range(unsigned first, unsigned count) {
  const unsigned end = first + count;
  // Four or more registers may extend into flat_scratch, which is SGPRs 102 and 103.
  if (end <= (count > 2 ? sgpr_count + 2 : sgpr_count)) return true;
  if (first >= sreg::m0) return first != sreg::null && end <= sreg::count && (count == 1 || first == sreg::exec);
  if (first >= sreg::ttmp0) return end <= sreg::ttmp0 + 16;
  return first >= sgpr_count && count <= 2;
}

}  // namespace

std::uint32_t Reader::word(unsigned n) {
  require(has(n + 1));
  return has(n + 1) ? words_[n] : 0;
}

bool Reader::begin(Format format, unsigned code, unsigned words) {
  out.opcode = index_.find(format, code);
  out.size = static_cast<std::uint8_t>(4 * words);
  return out.opcode != nullptr && has(words);
}

Operand Reader::vgpr(unsigned index, unsigned count) {
  // gfx90a and later: tuples begin at an even register.
  if (index + count > 256 || (count > 1 && index % 2 != 0 && !before_gfx90a())) return invalid();
  return {.kind = OperandKind::vgpr,
          .dwords = static_cast<std::uint8_t>(count),
          .index = static_cast<std::uint16_t>(index)};
}

Operand Reader::agpr(unsigned index, unsigned count) {
  Operand operand = vgpr(index, count);
  if (operand.kind == OperandKind::vgpr) operand.kind = OperandKind::agpr;
  return operand;
}

Operand Reader::scalar(unsigned code, unsigned count) {
  const unsigned alignment = count > 2 ? 4 : count;
  if (!is_scalar_range(code, count) || code % alignment != 0) return invalid();
  return {
      .kind = OperandKind::sgpr, .dwords = static_cast<std::uint8_t>(count), .index = static_cast<std::uint16_t>(code)};
}

Operand Reader::literal(Type type) {
  // One literal per instruction, after the first word; VOP3 and longer formats have none.
  if (out.size != 4 && !has_literal_) return invalid();
  out.size = 8;
  has_literal_ = true;
  Operand operand{.kind = OperandKind::constant, .literal = true, .dwords = static_cast<std::uint8_t>(dwords(type))};
  operand.value = literal_constant(word(1), type);
  out.immediate = static_cast<std::int32_t>(word(1));
  return operand;
}

Operand Reader::source(unsigned code, Type type, Sources allowed) {
  const unsigned count = dwords(type);
  if (code >= 256) {
    return allowed == Sources::any || allowed == Sources::vgpr ? vgpr(code - 256, count) : invalid();
  }
  if (allowed == Sources::vgpr) return invalid();
  if (code < 128) return scalar(code, count);
  if (allowed == Sources::sgpr) return invalid();
  const bool constants = allowed != Sources::registers;
  if (const auto value = inline_constant(code, is_integer16(type) ? Type::b32 : type); value && constants) {
    return {.kind = OperandKind::constant, .dwords = static_cast<std::uint8_t>(count), .value = *value};
  }
  if (code == 255) return constants ? literal(type) : invalid();
  const bool lds_direct = code == 254 && count == 1 && allowed == Sources::any;
  const bool special = (code >= 235 && code <= 239) || (code >= 251 && code <= 253);
  if (!special && !lds_direct) return invalid();
  return {.kind = OperandKind::special,
          .dwords = static_cast<std::uint8_t>(count),
          .index = static_cast<std::uint16_t>(code)};
}

}  // namespace rapt::sim::gfx9
