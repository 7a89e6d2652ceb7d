// Random gfx11 and gfx12 instruction words, every opcode of every encoding; and the words for which LLVM's disassembler
// is wrong.
#pragma once

#include "sim/tests/support/instructions/gfx9_words.hpp"

namespace rapt::sim::test {

// `count` samples of each value of each encoding's opcode field, valid and invalid ones; the same for the same seed.
std::vector<Sample> random_rdna_words(Arch arch, unsigned count, unsigned seed);

// LLVM 22 dereferences a null pointer for a literal as the number of a split barrier.
bool crashes_llvm_rdna(const Sample& sample);

// Whether LLVM's answer to a sample is right.
Exception llvm_exception_rdna(Arch arch, const Sample& sample, const Disassembled& llvm);

}  // namespace rapt::sim::test
