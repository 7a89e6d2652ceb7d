// Every memory instruction of every architecture has a handler.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

bool is_memory(Format f) {
  return f == Format::ds || f == Format::flat || f == Format::global || f == Format::scratch || f == Format::mubuf ||
         f == Format::mtbuf;
}

TEST(MemoryComplete, EveryOpcodeHasAHandler) {
  for (int n = 0; n < arch_count; ++n) {
    const auto arch = static_cast<Arch>(n);
    std::string missing;
    int count = 0;
    for (const Opcode& opcode : opcodes(arch)) {
      if (!is_memory(opcode.format) || !contains(opcode.archs, arch)) continue;
      ++count;
      for (const unsigned lanes : {32U, 64U})
        if (!handlers().find(opcode.name, arch, lanes)) {
          missing += std::string(opcode.name) + " ";
          break;
        }
    }
    EXPECT_GT(count, 250) << name(arch);
    EXPECT_EQ(missing, "") << name(arch);
  }
}

}  // namespace
}  // namespace rapt::sim::test
