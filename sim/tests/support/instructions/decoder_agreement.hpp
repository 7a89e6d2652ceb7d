// Counts where a decoder and LLVM's disassembler differ, with an example of each kind.
#pragma once

#include "sim/isa/decode.hpp"
#include "sim/tests/support/instructions/gfx9_words.hpp"

#include <map>
#include <set>

namespace rapt::sim::test {

struct Agreement {
  std::map<std::string, unsigned> differences;  // by kind and mnemonic, with an example of each in `examples`
  std::string examples;
  std::set<const Opcode*> rows;  // rows that were decoded
  std::map<std::string_view, unsigned> exceptions;
  unsigned same = 0, valid = 0, invalid = 0;

  void differ(const std::string& kind, std::string_view text, const std::string& example);
  // Only looks for an exception if the two differ.
  using FindException = Exception (*)(Arch, const Sample&, const Disassembled&);
  void compare(DecodeMode mode, const Sample& sample, const Disassembled& llvm, FindException find_exception);
};

std::string hex_words(std::span<const std::uint32_t> words);

}  // namespace rapt::sim::test
