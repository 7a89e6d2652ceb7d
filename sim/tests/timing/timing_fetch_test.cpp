// Instruction fetch: code that the instruction cache holds costs nothing but its branches, other code a miss for each
// line.
#include "sim/tests/support/timed_code.hpp"

namespace rapt::sim::test {
namespace {

using timing::Chip;
using timing::Stall;

class InstructionFetch : public testing::TestWithParam<const Chip*> {
 protected:
  const Chip& chip() const { return *GetParam(); }
  // As many bytes of straight code.
  std::string straight(unsigned bytes) const {
    return ".rept " + std::to_string(bytes / 8) + "\nv_add_f32 v1, 0x12345678, v2\n.endr\n";
  }
  std::string loop(unsigned bytes, unsigned rounds) const {
    return "s_mov_b32 s0, " + std::to_string(rounds) + "\nloop:\n" + straight(bytes) +
           "s_sub_u32 s0, s0, 1\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 done\ns_getpc_b64 s[2:3]\nhere:\n"
           "s_sub_u32 s2, s2, here-loop\ns_subb_u32 s3, s3, 0\ns_setpc_b64 s[2:3]\ndone:\n";
  }
  double issue_clocks() const { return chip().instruction_line_bytes / 8 * chip().turn_clocks; }  // of a line
  // The clocks of a line where each one misses: a wave that comes to a line asks for the next one too, so two are on
  // their way.
  double line_clocks() const { return (chip().l2_clocks + issue_clocks()) / 2; }
};

TEST_P(InstructionFetch, CodeThatFitsIsThere) {
  TimedCode code(chip(), straight(chip().instruction_bytes / 2));
  code.clocks();
  EXPECT_EQ(code.stalled(Stall::fetch), 0U);
}

TEST_P(InstructionFetch, EachLineOfLongerCodeMisses) {
  const auto clocks = [&](unsigned caches) {
    return TimedCode(chip(), straight(caches * chip().instruction_bytes)).clocks();
  };
  const double lines = chip().instruction_bytes / chip().instruction_line_bytes;
  EXPECT_NEAR(static_cast<double>(clocks(3) - clocks(2)) / lines, line_clocks(), 4);
}

TEST_P(InstructionFetch, ALoopThatFitsMissesNothing) {
  TimedCode code(chip(), loop(chip().instruction_bytes / 2, 5));
  code.clocks();
  EXPECT_EQ(code.stalled(Stall::fetch), 5 * (chip().refetch_clocks - chip().turn_clocks));
}

TEST_P(InstructionFetch, ALoopThatDoesNotFitMissesEachLineInEachRound) {
  const unsigned bytes = chip().instruction_bytes * 3 / 2;
  TimedCode code(chip(), loop(bytes, 6)), shorter(chip(), loop(bytes, 2));
  const double lines = bytes / chip().instruction_line_bytes;
  EXPECT_NEAR(static_cast<double>(code.clocks() - shorter.clocks()) / 4 / lines, line_clocks(), 4);
  EXPECT_NEAR(static_cast<double>(code.stalled(Stall::fetch)) / 6 / lines, line_clocks() - issue_clocks(), 4);
}

TEST_P(InstructionFetch, WavesFetchForEachOther) {
  const std::string text = straight(2 * chip().instruction_bytes);
  TimedCode one(chip(), text), four(chip(), text, 4);
  EXPECT_NEAR(static_cast<double>(four.clocks()) / static_cast<double>(one.clocks()), 1, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Each, InstructionFetch, testing::ValuesIn(chips_of(every_arch)), chip_name);

}  // namespace
}  // namespace rapt::sim::test
