// Text to instructions, by llvm-mc of LLVM 22.
#pragma once

#include "sim/isa/decode.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::sim::test {

// A folder of this process, removed at its end.
const std::string& temporary_folder();
// Runs a shell command; throws std::runtime_error with what it printed where it fails. Gives its standard output.
std::string shell(const std::string& command);

unsigned default_lanes(Arch arch);

// The words of the assembly; throws std::runtime_error with the assembler's message where it is refused.
std::vector<std::uint32_t> assemble(Arch arch, unsigned lanes, std::string_view text);
// Decodes words from the first to the last; throws where one is no instruction.
std::vector<Instruction> decode_all(Arch arch, unsigned lanes, const std::vector<std::uint32_t>& words);

}  // namespace rapt::sim::test
