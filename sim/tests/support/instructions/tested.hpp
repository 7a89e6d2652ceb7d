// Records the operations that tests run. With RAPT_SIM_RECORD_TESTED=FOLDER each test program writes "architecture
// mnemonic" lines to a file of its own there; `rapt-sim opcodes --tests FOLDER` makes sim/tests/data/opcodes.md from
// them.
#pragma once

#include "sim/machine/core/handlers.hpp"

#include <string_view>

namespace rapt::sim::test {

void record_tested(std::string_view mnemonic, Arch arch);

// The operation's handler, for tests to run.
inline Handler tested_handler(std::string_view mnemonic, Arch arch, unsigned lanes) {
  record_tested(mnemonic, arch);
  return handlers().find(mnemonic, arch, lanes);
}

}  // namespace rapt::sim::test
