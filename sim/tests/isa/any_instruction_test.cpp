// The encodings that tests of all instructions are made from: every row of the opcode tables has at least one, and
// their operands do not overlap.
#include "sim/tests/support/instructions/any_instruction.hpp"
#include "sim/tests/support/instructions/any_scene.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rapt::sim::test {
namespace {

// Operands that share a field are one: an accumulator, the data and the result of some atomics.
bool lie_apart(const Encoding& e) {
  const auto instruction = e.decode();
  std::set<std::pair<OperandKind, unsigned>> taken;
  for (unsigned slot = 0; slot < slot_count; ++slot) {
    const Operand& o = operand(*instruction, slot);
    bool shared = !e.places[slot].exists();
    for (unsigned other = 0; other < slot; ++other) shared |= e.places[other].field == e.places[slot].field;
    if (shared) continue;
    for (unsigned d = 0; d < o.dwords; ++d)
      if (!taken.emplace(o.kind, o.index + d).second) return false;
  }
  return true;
}

TEST(AnyInstruction, EveryRowHasEncodings) {
  std::size_t count = 0;
  for (int n = 0; n < arch_count; ++n) {
    const auto arch = static_cast<Arch>(n);
    for (const unsigned lanes : {32U, 64U}) {
      if (lanes == 32 && is_cdna(arch)) continue;
      for (const Opcode& row : opcodes(arch)) {
        // VOPD only exists in waves of 32 lanes.
        if (row.format == Format::unsupported || (row.format == Format::vopd && lanes == 64)) continue;
        const auto all = encodings({arch, lanes}, row);
        EXPECT_FALSE(all.empty()) << name(arch) << " of " << lanes << " lanes: " << row.name;
        for (const Encoding& e : all) EXPECT_TRUE(lie_apart(e)) << name(arch) << " " << row.name << " " << e.form;
        count += all.size();
      }
    }
  }
  std::cout << count << " encodings\n";
  EXPECT_GT(count, 39000U);
}

TEST(AnyInstruction, EveryEncodingRuns) {
  unsigned runs = 0, refused = 0;
  for (const Target& target : every_target()) {
    AnyScene scene(target);
    std::mt19937 random(1);
    MachineState state = scene.random_state(random);
    for (const Opcode& row : opcodes(target.arch)) {
      if (is_refused(row, target)) ++refused;
      else
        for (const Encoding& e : encodings({target.arch, target.lanes}, row))
          for (const bool beyond : {false, true}) {
            const auto instruction = e.decode();
            if (is_refused(*instruction)) continue;  // every_bit_test checks that
            scene.make_valid(state, *instruction, random, beyond);
            scene.set(state);
            EXPECT_NO_THROW(scene.run(*instruction)) << describe(target) << " " << row.name << " " << e.form;
            ++runs;
          }
    }
  }
  std::cout << runs << " runs, " << refused << " rows are refused\n";
  EXPECT_GT(runs, 60000U);
}

}  // namespace
}  // namespace rapt::sim::test
