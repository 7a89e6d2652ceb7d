// Random gfx11 and gfx12 instruction words, every opcode of every encoding; and where LLVM's disassembler is not to be
// followed.
#pragma once

#include "sim/tests/support/instructions/gfx9_words.hpp"

namespace rapt::sim::test {

// `count` samples of each value of each encoding's opcode field, valid and invalid ones; the same for the same seed.
std::vector<Sample> random_rdna_words(Arch arch, unsigned count, unsigned seed);

// LLVM 22 follows a null pointer for a literal as the number of a split barrier.
bool crashes_llvm_rdna(const Sample& sample);

// What LLVM's answer to a sample is worth.
Exception llvm_exception_rdna(Arch arch, const Sample& sample, const Disassembled& llvm);

}  // namespace rapt::sim::test
