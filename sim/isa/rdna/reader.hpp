// The words of one instruction while it is decoded: bit fields, operands, and the literal or DPP word after them.
#pragma once

#include "sim/isa/family.hpp"

namespace rapt::sim::rdna_isa {

class Reader {
 public:
  Reader(DecodeMode mode, const OpcodeIndex& index, std::span<const std::uint32_t> words)
      : mode(mode), index_(index), words_(words) {}

  // gfx11's codes of the two registers that sreg numbers the other way round (RDNA3 ISA, "SGPR operands").
  static constexpr unsigned null_code = 124;
  static constexpr unsigned m0_code = 125;

  const DecodeMode mode;
  Instruction out;

  // Bits high..low of the 64 that begin the instruction.
  unsigned field(unsigned high, unsigned low) const {
    const std::uint64_t both = words_[0] | std::uint64_t{words_.size() > 1 ? words_[1] : 0} << 32;
    return static_cast<unsigned>(both >> low & ((std::uint64_t{1} << (high - low + 1)) - 1));
  }
  bool bit(unsigned at) const { return field(at, at) != 0; }
  std::uint32_t word(unsigned at) const { return at < words_.size() ? words_[at] : 0; }

  bool gfx12() const { return contains(rapt::sim::gfx12, mode.arch); }

  const Opcode* find(Format format, unsigned code) const { return index_.find(format, code); }
  // The row and the dwords of its encoding without a literal or DPP word; nullptr if there is no such row.
  const Opcode* begin(const Opcode* row, unsigned dwords);
  const Opcode* begin(Format format, unsigned code, unsigned dwords) { return begin(find(format, code), dwords); }
  const Opcode& row() const { return *out.opcode; }
  bool is(Traits trait) const { return (row().traits & trait) != 0; }

  Operand vgpr(unsigned index, Type type);
  Operand scalar(unsigned code, Type type);  // 7 bits: SGPRs, vcc, ttmp, null, m0, exec
  // 8 or 9 bits: scalars, constants, a literal, VGPRs from 256 on. An inline constant may have another type.
  Operand source(unsigned code, Type type) { return source(code, type, type); }
  Operand source(unsigned code, Type type, Type constant);
  Operand vcc_mask() const;
  Operand exec_mask() const;
  Operand literal(Type type);  // the literal word, whatever the code is

  std::uint32_t extra_word();  // the next word, once
  void fail() { valid_ = false; }
  void require(bool condition) { valid_ = valid_ && condition; }
  std::optional<Instruction> finish();

 private:
  const OpcodeIndex& index_;
  std::span<const std::uint32_t> words_;
  unsigned used_ = 0;
  std::optional<std::uint32_t> literal_;
  bool valid_ = true;
};

}  // namespace rapt::sim::rdna_isa
