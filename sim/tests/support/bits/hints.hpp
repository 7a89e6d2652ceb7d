// Bits of instructions that the decoder accepts and the simulator ignores, each with the reason and its source. The
// test of every bit (every_bit_test.cpp) fails for any other such bit, and for one here that does have an effect.
#pragma once

#include "sim/tests/support/bits/word_layouts.hpp"

#include "sim/isa/instruction.hpp"

#include <span>

namespace rapt::sim::test {

// One of the encodings of an operation that have the same operands.
struct FormOf {
  Arch arch;
  unsigned lanes;
  const Layout& layout;
  const Words& words;
  const Instruction& instruction;

  const Opcode& row() const { return *instruction.opcode; }
  bool on(std::string_view field) const;  // any bit of it is set
  unsigned sources() const;               // that have a field; an accumulator uses the destination's
};

// Sources are sections of the ISA documents, or files of LLVM 22, whose disassembler the decoder agrees with: bits to
// which neither gives a meaning are decoded as LLVM does.
struct Hint {
  std::string_view layouts = "*";  // names with wildcards, '|' between them
  std::string_view fields = "*";
  unsigned first = 0, last = 159;  // bits of the field; of "unnamed" ones in the whole instruction
  std::string_view rows = "*";
  ArchSet archs = every_arch;
  bool (*when)(const FormOf&, unsigned bit) = nullptr;  // the field's bit
  std::string_view why;
  std::string_view source;
};

std::span<const Hint> scalar_hints();  // SOP*, SMEM
std::span<const Hint> vector_hints();  // VOP1, VOP2, VOPC, VOP3
std::span<const Hint> packed_hints();  // VOP3P
std::span<const Hint> memory_hints();  // DS, FLAT and buffers
std::span<const Hint> literal_hints();
inline std::array<std::span<const Hint>, 5> all_hints() {
  return {scalar_hints(), vector_hints(), packed_hints(), memory_hints(), literal_hints()};
}

// The entry for each bit; nullptr if there is none.
std::vector<const Hint*> find_hints(const FormOf& form);

}  // namespace rapt::sim::test
