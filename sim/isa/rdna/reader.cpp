#include "sim/isa/rdna/reader.hpp"

#include "sim/isa/constants.hpp"

namespace rapt::sim::rdna_isa {
namespace {

constexpr unsigned sgprs = 106;
constexpr unsigned ttmps = 16;

}  // namespace

const Opcode* Reader::begin(const Opcode* row, unsigned dwords) {
  out.opcode = row;
  used_ = dwords;
  require(words_.size() >= dwords);
  return row;
}

std::uint32_t Reader::extra_word() {
  require(used_ < words_.size());
  return word(used_++);
}

Operand Reader::literal(Type type) {
  if (!literal_) literal_ = extra_word();
  return {.kind = OperandKind::constant,
          .literal = true,
          .dwords = static_cast<std::uint8_t>(dwords(type, mode.lanes)),
          .index = static_cast<std::uint16_t>(*literal_ >> 16),  // 16-bit operands do not use it, but the text may
          .value = literal_constant(*literal_, type)};
}

Operand Reader::vgpr(unsigned index, Type type) {
  const unsigned count = dwords(type, mode.lanes);
  require(index + count <= 256);
  return {.kind = OperandKind::vgpr,
          .dwords = static_cast<std::uint8_t>(count),
          .index = static_cast<std::uint16_t>(index)};
}

Operand Reader::scalar(unsigned code, Type type) {
  const unsigned count = dwords(type, mode.lanes);
  unsigned index = code;
  if (code == null_code) {
    index = sreg::null;
  } else if (code == m0_code) {
    index = sreg::m0;
    require(count == 1);
  } else if (code < sgprs || (code >= sreg::ttmp0 && code < sreg::ttmp0 + ttmps)) {
    const unsigned alignment = count == 1 ? 1 : count == 2 ? 2 : 4;
    require(code % alignment == 0 && code + count <= (code < sgprs ? sgprs : sreg::ttmp0 + ttmps));
  } else {
    require(code < 128 && (count == 1 || (count == 2 && code % 2 == 0)));
  }
  return {.kind = OperandKind::sgpr,
          .dwords = static_cast<std::uint8_t>(count),
          .index = static_cast<std::uint16_t>(index)};
}

Operand Reader::source(unsigned code, Type type, Type constant) {
  if (code >= 256) return vgpr(code - 256, type);
  if (code < 128) return scalar(code, type);
  const auto count = static_cast<std::uint8_t>(dwords(type, mode.lanes));
  if (const auto value = inline_constant(code, constant)) {
    return {.kind = OperandKind::constant, .dwords = count, .value = *value};
  }
  if (code == 255) return literal(type);
  require((code >= 235 && code <= 239) || (code >= 251 && (code <= 253 || count == 1)));
  return {.kind = OperandKind::special, .dwords = count, .index = static_cast<std::uint16_t>(code)};
}

Operand Reader::vcc_mask() const {
  return {.kind = OperandKind::sgpr,
          .dwords = static_cast<std::uint8_t>(mode.lanes / 32),
          .index = static_cast<std::uint16_t>(sreg::vcc)};
}

Operand Reader::exec_mask() const {
  return {.kind = OperandKind::sgpr,
          .dwords = static_cast<std::uint8_t>(mode.lanes / 32),
          .index = static_cast<std::uint16_t>(sreg::exec)};
}

std::optional<Instruction> Reader::finish() {
  if (!valid_ || out.opcode == nullptr) return std::nullopt;
  out.size = static_cast<std::uint8_t>(used_ * 4);
  return std::move(out);
}

}  // namespace rapt::sim::rdna_isa
