// LLVM 22's assembler in this process: a program of its own takes 30 times as long to start as to assemble a few lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rapt::sim::test {

// An object file of the assembly; throws std::runtime_error with the assembler's messages if it is refused. `features`:
// as llvm-mc's -mattr.
std::vector<char> assemble_object(const std::string& cpu, const std::string& features, std::string_view text);

}  // namespace rapt::sim::test
