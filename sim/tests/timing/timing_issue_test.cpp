// Kernels of a few instructions, each with one rate or latency: the model must return the table's value.
#include "sim/tests/support/timed_code.hpp"

namespace rapt::sim::test {
namespace {

using timing::Chip;
using timing::Stall;

class Issue : public testing::TestWithParam<const Chip*> {
 protected:
  const Chip& chip() const { return *GetParam(); }
  std::uint64_t clocks(const std::string& text, unsigned waves = 1) { return TimedCode(chip(), text, waves).clocks(); }
  // Of one more `text`, where there are many.
  double each(const std::string& text, unsigned waves = 1) {
    return static_cast<double>(clocks(repeat(48, text), waves) - clocks(repeat(16, text), waves)) / 32;
  }
};

TEST_P(Issue, VectorInstructionsTakeFourClocks) {
  EXPECT_EQ(each("v_add_f32 v1, v1, v2"), 4);  // a dependent one too
  EXPECT_EQ(each("v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[8:9]"), 4);
  EXPECT_EQ(each("v_exp_f32 v1, v2"), chip().arch == Arch::gfx950 ? 8 : 16);
}

TEST_P(Issue, ScalarInstructionsRunBesideAnotherWavesVectorInstructions) {
  EXPECT_EQ(each("s_add_u32 s1, s1, s2"), chip().scalar_clocks);
  // Waves 0 and 4 share a SIMD.
  EXPECT_EQ(each("s_add_u32 s1, s1, s2\nv_add_f32 v1, v1, v2", 5), 8);
  EXPECT_EQ(each("v_add_f32 v1, v1, v2", 5), 8);
  EXPECT_EQ(each("v_add_f32 v1, v1, v2", 4), 4);
}

TEST_P(Issue, ProductsTakeTheirPasses) {
  const double passes = 8;
  EXPECT_EQ(each("v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], v[0:15]"), 4 * passes);
  EXPECT_EQ(each("v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], 0"), 4 * passes);
  EXPECT_EQ(each("v_mfma_f32_16x16x16_f16 v[0:3], v[32:33], v[34:35], v[0:3]"), 2 * passes);
  // Four SIMDs have a matrix unit each; five waves share four.
  EXPECT_EQ(each("v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], v[0:15]", 4), 4 * passes);
  EXPECT_EQ(each("v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], v[0:15]", 5), 8 * passes);
}

TEST_P(Issue, VectorInstructionsHideBehindAProduct) {
  const std::string product = "v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], v[0:15]\n";
  EXPECT_EQ(each(product + repeat(7, "v_add_f32 v40, v40, v41")), 32);
  EXPECT_EQ(each(product + repeat(8, "v_add_f32 v40, v40, v41")), 36);
  // Packed ones do not.
  EXPECT_GE(each(product + repeat(2, "v_pk_add_f32 v[40:41], v[40:41], v[42:43]")), 40);
}

TEST_P(Issue, AProductsResultIsReadAfterItsLastPass) {
  const std::string product = "v_mfma_f32_32x32x8_f16 v[0:15], v[32:33], v[34:35], 0\n";
  const double latency = 32 + chip().matrix_tail_clocks;
  EXPECT_EQ(each(product + "v_add_f32 v40, v3, v3"), latency + 4);
  EXPECT_EQ(each(product + "v_mfma_f32_32x32x8_f16 v[16:31], v[0:1], v[34:35], v[16:31]"), latency + 32);
  EXPECT_EQ(each(product + "v_add_f32 v40, v41, v41"), 32);
}

TEST_P(Issue, WaitsAndNoOperations) {
  EXPECT_EQ(each("s_nop 0"), 4);
  EXPECT_EQ(each("s_nop 7"), 32);
  EXPECT_EQ(each("s_sleep 2"), 128);
}

TEST_P(Issue, ATakenBranch) {
  const auto loop = [&](unsigned rounds) {
    return clocks("s_mov_b32 s0, " + std::to_string(rounds) +
                  "\nloop:\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 loop");
  };
  EXPECT_EQ((loop(48) - loop(16)) / 32, 2 * chip().scalar_clocks + chip().refetch_clocks);
}

TEST_P(Issue, WavesWaitAtABarrier) {
  TimedCode code(chip(), R"(
    v_readfirstlane_b32 s0, v1
    s_cmp_eq_u32 s0, 0
    s_cbranch_scc1 meet
    s_sleep 16
    meet: s_barrier
    v_add_f32 v2, v2, v2)",
                 2);
  for (unsigned l = 0; l < 64; ++l) code.wave(1).row(1)[l] = 1;
  const std::uint64_t clocks = code.clocks();
  EXPECT_GE(clocks, 1024 + chip().refetch_clocks);
  EXPECT_LE(clocks, 1024 + chip().refetch_clocks + 64);
  EXPECT_GE(code.stalled(Stall::barrier), 900U);
  for (const timing::SlotTime& slot : code.slots) {
    const std::uint64_t stalled = slot.stalled[static_cast<unsigned>(Stall::barrier)];
    EXPECT_EQ(stalled == 0, &slot != &code.slots[4]) << "the barrier's, not the next instruction's";
  }
}

TEST_P(Issue, TheHigherPriorityGoesFirst) {
  // Wave 4, the younger one of its SIMD, ends first if it asks for priority.
  TimedCode code(chip(), R"(
    v_readfirstlane_b32 s0, v1
    s_cmp_eq_u32 s0, 0
    s_cbranch_scc1 work
    s_setprio 3
    work:)" + repeat(64, "v_add_f32 v2, v2, v2"),
                 5);
  for (unsigned l = 0; l < 64; ++l) code.wave(4).row(1)[l] = 1;
  const std::uint64_t clocks = code.clocks();
  EXPECT_GE(clocks, 2 * 64 * 4U);
  EXPECT_LE(clocks, 2 * 64 * 4U + 100);
  EXPECT_GE(code.stalled(Stall::vector) + code.stalled(Stall::issue), 200U);
}

INSTANTIATE_TEST_SUITE_P(Each, Issue, testing::ValuesIn(all_chips()), chip_name);

}  // namespace
}  // namespace rapt::sim::test
