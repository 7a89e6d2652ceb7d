// The table of every opcode by architecture: docs/simulator-opcodes.md.
#pragma once

#include <set>
#include <string>

namespace rapt::sim::tool {

// Every word of the sources in a folder (not below it) that could be a mnemonic. Throws InputError where it cannot be
// read.
std::set<std::string> words_in_sources(const std::string& folder);

// Markdown. `tested`: the mnemonics that count as tested.
std::string opcode_table(const std::set<std::string>& tested);

}  // namespace rapt::sim::tool
