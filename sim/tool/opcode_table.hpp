// The table of all opcodes by architecture: sim/tests/data/opcodes.md.
#pragma once

#include "sim/isa/arch.hpp"

#include <set>
#include <string>
#include <utility>

namespace rapt::sim::tool {

using Tested = std::set<std::pair<Arch, std::string>>;  // mnemonics

// From a folder of records that the tests wrote (tests/support/instructions/tested.hpp). Throws InputError if there are
// none.
Tested read_tested(const std::string& folder);

// Markdown.
std::string opcode_table(const Tested& tested);

}  // namespace rapt::sim::tool
