// The state of decoding one instruction: its words, and the instruction that is filled.
#pragma once

#include "sim/isa/family.hpp"

namespace rapt::sim::gfx9 {

// The sources that an operand's field may name.
enum class Sources : std::uint8_t {
  any,        // scalar registers, constants, VGPRs
  scalar,     // scalar registers and constants
  registers,  // scalar registers, including special values (vccz)
  sgpr,       // scalar registers that can be written and read back
  vgpr,
};

class Reader {
 public:
  Reader(DecodeMode mode, const OpcodeIndex& index, std::span<const std::uint32_t> words)
      : mode_(mode), index_(index), words_(words) {}

  Instruction out;

  Arch arch() const { return mode_.arch; }
  bool before_gfx90a() const { return contains(sim::before_gfx90a, mode_.arch); }
  // `count` bits from bit `low` of the first two words.
  unsigned bits(unsigned low, unsigned count) const {
    return static_cast<unsigned>(pair() >> low & ((std::uint64_t{1} << count) - 1));
  }
  bool bit(unsigned n) const { return bits(n, 1) != 0; }
  // A word beyond the first; marks the instruction invalid if the words end too early.
  std::uint32_t word(unsigned n);
  // The same instruction's later words as a separate reader (scaled MFMA).
  Reader behind(unsigned words) const { return {mode_, index_, words_.subspan(words)}; }
  bool has(unsigned words) const { return words_.size() >= words; }

  // Finds the row and sets the size; false if there is no such opcode or the words end too early.
  bool begin(Format format, unsigned code, unsigned words);
  const Opcode& row() const { return *out.opcode; }
  bool is(Traits trait) const { return (row().traits & trait) != 0; }
  unsigned dwords(Type type) const { return sim::dwords(type, mode_.lanes); }

  // Operands. A field that names something it may not marks the instruction invalid.
  Operand source(unsigned code, Type type, Sources allowed = Sources::any);
  Operand scalar(unsigned code, unsigned count);
  Operand vgpr(unsigned index, unsigned count);
  Operand agpr(unsigned index, unsigned count);
  Operand vector(bool accumulator, unsigned index, unsigned count) {
    return accumulator ? agpr(index, count) : vgpr(index, count);
  }
  static Operand vcc() { return {.kind = OperandKind::sgpr, .dwords = 2, .index = sreg::vcc}; }

  void require(bool condition) { valid_ = valid_ && condition; }
  bool valid() const { return valid_; }

 private:
  std::uint64_t pair() const { return words_[0] | (words_.size() > 1 ? std::uint64_t{words_[1]} << 32 : 0); }
  Operand invalid() {
    valid_ = false;
    return {};
  }
  Operand literal(Type type);

  DecodeMode mode_;
  const OpcodeIndex& index_;
  std::span<const std::uint32_t> words_;
  bool valid_ = true;
  bool has_literal_ = false;
};

}  // namespace rapt::sim::gfx9
