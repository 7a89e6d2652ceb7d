#include "sim/isa/gfx9/reader.hpp"

#include "sim/isa/constants.hpp"

namespace rapt::sim::gfx9 {
namespace {

constexpr unsigned sgpr_count = 102;

// Registers with names of their own go by pairs and do not mix with the numbered ones.
bool is_scalar_range(unsigned first, unsigned count) {
  const unsigned end = first + count;
  if (end <= sgpr_count) return true;
  if (first >= sreg::ttmp0)
    return end <= sreg::ttmp0 + 16 || (first >= sreg::m0 && first != sreg::null && count == 1) ||
           (first == sreg::exec && count == 2);
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
  if (index + count > 256 || (count > 1 && index % 2 != 0 && arch() != Arch::gfx908)) return invalid();
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
  // One literal an instruction, behind the first word: VOP3 and longer formats have none.
  if (out.size != 4) return invalid();
  Operand operand{.kind = OperandKind::constant, .literal = true, .dwords = static_cast<std::uint8_t>(dwords(type))};
  operand.value = literal_constant(word(1), type);
  return operand;
}

Operand Reader::source(unsigned code, Type type, Sources allowed) {
  const unsigned count = dwords(type);
  if (code >= 256) {
    const bool takes_vgpr = allowed == Sources::any || allowed == Sources::registers || allowed == Sources::vgpr;
    return takes_vgpr ? vgpr(code - 256, count) : invalid();
  }
  if (allowed == Sources::vgpr) return invalid();
  if (code < 128) return scalar(code, count);
  if (allowed == Sources::registers || allowed == Sources::sgpr) return invalid();
  if (const auto value = inline_constant(code, type)) {
    return {.kind = OperandKind::constant, .dwords = static_cast<std::uint8_t>(count), .value = *value};
  }
  if (code == 255) return literal(type);
  const bool special = (code >= 235 && code <= 239) || (code >= 251 && code <= 254);
  if (!special) return invalid();
  return {.kind = OperandKind::special,
          .dwords = static_cast<std::uint8_t>(count),
          .index = static_cast<std::uint16_t>(code)};
}

}  // namespace rapt::sim::gfx9
