// Assembles text with LLVM 22.
#pragma once

#include "sim/isa/decode.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::sim::test {

// A temporary folder of this process, removed at its end.
const std::string& temporary_folder();
// Runs a shell command and returns its standard output; throws std::runtime_error with what it printed if it fails.
std::string shell(const std::string& command);

unsigned default_lanes(Arch arch);

// The words of the assembly; throws std::runtime_error with the assembler's message if it is refused.
std::vector<std::uint32_t> assemble(Arch arch, unsigned lanes, std::string_view text);
// Decodes all words in order; throws if one is not an instruction.
std::vector<Instruction> decode_all(Arch arch, unsigned lanes, const std::vector<std::uint32_t>& words);

}  // namespace rapt::sim::test
