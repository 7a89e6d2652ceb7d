// Disassembles words with llvm-objdump of LLVM 22, with which decoders are compared.
#pragma once

#include "sim/isa/arch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rapt::sim::test {

struct Disassembled {
  std::uint64_t address = 0;
  std::vector<std::uint32_t> words;  // the words that the instruction takes
  std::string text;                  // single spaces; empty if LLVM knows no instruction or rejects it
  std::string raw;                   // what LLVM printed, for messages
};

// Four words each: an instruction at the first, and what may follow it.
using Sample = std::array<std::uint32_t, 4>;

// The instruction at the beginning of each sample, independent of the others.
std::vector<Disassembled> disassemble(Arch arch, unsigned lanes, std::span<const Sample> samples);

// Every instruction in the .text section of a code object, in order.
std::vector<Disassembled> disassemble_object(Arch arch, unsigned lanes, std::span<const std::byte> object);

}  // namespace rapt::sim::test
