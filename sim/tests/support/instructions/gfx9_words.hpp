// Random gfx9 instruction words, every opcode of every encoding; and the words for which LLVM is wrong.
#pragma once

#include "sim/tests/support/programs/disassemble.hpp"

#include <string_view>

namespace rapt::sim::test {

// `count` samples of each value of each encoding's opcode field, valid and invalid ones; the same for the same seed.
// Words on which LLVM's disassembler crashes are not among them.
std::vector<Sample> random_gfx9_words(unsigned count, unsigned seed);

// LLVM 22 fails an assertion or reads outside its tables for these words. An SDWA select of 7. A literal (255) in VOP3,
// MUBUF or MTBUF, which have none, or as a scalar result. Scalar A or B of the f8f6f4 operations. 255 as the literal of
// v_madmk and its kind.
bool crashes_llvm(const Sample& sample);

enum class Expect : std::uint8_t { same, refused, decoded, either };
struct Exception {
  Expect expect = Expect::same;  // of our decoder
  std::string_view reason;
};
// Whether LLVM's answer to a sample is right. The reasons name what it gets wrong.
Exception llvm_exception(Arch arch, const Sample& sample, const Disassembled& llvm);

}  // namespace rapt::sim::test
