// RDNA: kernels of a few instructions, each with one rate or latency: the model must return the table's value.
#include "sim/tests/support/timed_code.hpp"

namespace rapt::sim::test {
namespace {

using timing::Chip;
using timing::Stall;

class RdnaIssue : public testing::TestWithParam<const Chip*> {
 protected:
  const Chip& chip() const { return *GetParam(); }
  bool rdna4() const { return chip().arch == Arch::gfx1201; }
  std::uint64_t clocks(const std::string& text, unsigned waves = 1) { return TimedCode(chip(), text, waves).clocks(); }
  // The clocks of one more `text`, where there are many.
  double each(const std::string& text, unsigned waves = 1) {
    return static_cast<double>(clocks(repeat(48, text), waves) - clocks(repeat(16, text), waves)) / 32;
  }

  // v[d:d+7] = a * b + v[c:c+7]
  std::string product(unsigned d, unsigned c, unsigned a = 32) const {
    const auto range = [](unsigned first, unsigned count) {
      return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
    };
    const unsigned operands = rdna4() ? 4 : 8;  // registers of A and B
    return "v_wmma_f32_16x16x16_f16 " + range(d, 8) + ", " + range(a, operands) + ", " + range(40, operands) + ", " +
           range(c, 8) + '\n';
  }
  double product_clocks() const { return rdna4() ? 16 : 32; }
  std::string barrier() const { return rdna4() ? "s_barrier_signal -1\ns_barrier_wait -1" : "s_barrier"; }
};

TEST_P(RdnaIssue, IndependentVectorInstructionsTakeOneClock) {
  EXPECT_EQ(each("v_add_f32 v1, v2, v3"), 1);
  EXPECT_EQ(each("v_dual_add_f32 v0, v2, v3 :: v_dual_mul_f32 v1, v4, v5"), 1);
  EXPECT_EQ(each("v_mul_lo_u32 v1, v2, v3"), 4);
  EXPECT_EQ(each("v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]"), 16);
}

TEST_P(RdnaIssue, DependentVectorInstructionsWaitForTheResult) {
  EXPECT_EQ(each("v_add_f32 v1, v1, v2"), chip().vector_result_clocks);
  EXPECT_EQ(each("v_mul_lo_u32 v1, v1, v2"), chip().vector_result_clocks + 3);
  EXPECT_EQ(each("v_cmp_lt_f32 vcc_lo, v1, v2\nv_cndmask_b32 v1, v3, v4, vcc_lo"), 2 * chip().vector_result_clocks);
  TimedCode code(chip(), repeat(16, "v_add_f32 v1, v1, v2"));
  code.clocks();
  EXPECT_EQ(code.stalled(Stall::result), 15 * (chip().vector_result_clocks - 1));
}

// Twenty waves on four SIMDs: five hide the latency of five clocks.
TEST_P(RdnaIssue, OtherWavesFillTheLatency) {
  EXPECT_EQ(each("v_add_f32 v1, v1, v2", 4), chip().vector_result_clocks);
  EXPECT_EQ(each("v_add_f32 v1, v1, v2", 20), 5);
}

// Compiled with -mcumode, a group has the SIMDs, and the path to the LDS, of one compute unit.
TEST_P(RdnaIssue, AGroupMayHaveOneComputeUnitOnly) {
  const auto clocks = [&](const std::string& text, timing::Placement placement) {
    TimedCode code(chip(), repeat(64, text), 4);
    code.clocks();
    return static_cast<double>(code.again(1, placement));
  };
  const std::string vector = "v_add_f32 v1, v2, v3", lds = "ds_read_b128 v[4:7], v0";
  EXPECT_NEAR(clocks(vector, {true, 0}) / clocks(vector, {false, 0}), 2, 0.1);
  // Its LDS is on one of the two in any case.
  EXPECT_NEAR(clocks(lds, {true, 1024}) / clocks(lds, {false, 1024}), 1, 0.1);
  EXPECT_NEAR(clocks(lds, {false, 1024}) / clocks(lds, {false, 0}), 2, 0.2);
}

TEST_P(RdnaIssue, TranscendentalsRunBesideTheVectorUnit) {
  EXPECT_EQ(each("v_exp_f32 v1, v2"), 4);
  EXPECT_EQ(each("v_exp_f32 v1, v2\n" + repeat(3, "v_add_f32 v3, v4, v5")), 4);
  EXPECT_EQ(each("v_exp_f32 v1, v2\n" + repeat(4, "v_add_f32 v3, v4, v5")), 5);
  EXPECT_EQ(each("v_exp_f32 v1, v1"), chip().transcendental_result_clocks);
}

TEST_P(RdnaIssue, ScalarInstructions) {
  EXPECT_EQ(each("s_mov_b32 s1, s2"), chip().scalar_clocks);
  EXPECT_EQ(each("s_add_u32 s1, s1, s2"), chip().scalar_result_clocks);
  EXPECT_EQ(each("v_readfirstlane_b32 s1, v1\nv_mov_b32 v1, s1"), 2 * chip().vector_result_clocks);
  // Waves 0 and 4 share a SIMD, which issues both kinds in the same clock.
  EXPECT_EQ(each("v_add_f32 v1, v2, v3", 5), 2);
  EXPECT_EQ(each("s_mov_b32 s1, s2\nv_add_f32 v1, v2, v3", 5), 2);
}

TEST_P(RdnaIssue, ProductsTakeTheVectorUnit) {
  EXPECT_EQ(each(product(0, 8)), product_clocks());
  EXPECT_EQ(each(product(0, 8), 4), product_clocks());
  EXPECT_EQ(each(product(0, 8), 5), 2 * product_clocks());
  EXPECT_EQ(each(product(0, 8) + repeat(3, "v_add_f32 v50, v51, v52")), product_clocks() + 3);
  EXPECT_EQ(each(product(0, 8) + repeat(8, "s_mov_b32 s1, s2")), product_clocks());
}

TEST_P(RdnaIssue, AProductsResultIsReadAfterItsTail) {
  const double latency = product_clocks() + chip().matrix_tail_clocks;
  EXPECT_EQ(each(product(0, 0)), latency);
  EXPECT_EQ(each(product(0, 8) + product(16, 24, 0)), latency + product_clocks());
  EXPECT_EQ(each(product(0, 8) + "v_add_f32 v50, v3, v3"), latency + 1);
  // Two chains in turn hide it.
  EXPECT_EQ(each(product(0, 0) + product(8, 8)), 2 * product_clocks());
}

TEST_P(RdnaIssue, WaitsAndNoOperations) {
  EXPECT_EQ(each("s_nop 0"), 1);
  EXPECT_EQ(each("s_nop 7"), 8);
  EXPECT_EQ(each("s_sleep 2"), 128);
  // The hint does not lengthen the wait for a result.
  EXPECT_EQ(each("v_add_f32 v1, v1, v2\ns_delay_alu instid0(VALU_DEP_1)"), chip().vector_result_clocks);
}

TEST_P(RdnaIssue, ATakenBranch) {
  const auto loop = [&](unsigned rounds) {
    return clocks("s_mov_b32 s0, " + std::to_string(rounds) +
                  "\nloop:\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 loop");
  };
  EXPECT_EQ((loop(48) - loop(16)) / 32, 2 * chip().scalar_result_clocks + chip().refetch_clocks);
}

TEST_P(RdnaIssue, WavesWaitAtABarrier) {
  TimedCode code(chip(), R"(
    v_readfirstlane_b32 s0, v1
    s_cmp_eq_u32 s0, 0
    s_cbranch_scc1 meet
    s_sleep 16
    meet: )" + barrier() + "\nv_add_f32 v2, v2, v2",
                 2);
  for (unsigned l = 0; l < 32; ++l) code.wave(1).row(1)[l] = 1;
  const std::uint64_t clocks = code.clocks();
  EXPECT_GE(clocks, 1024U);
  EXPECT_LE(clocks, 1024 + chip().refetch_clocks + 64);
  EXPECT_GE(code.stalled(Stall::barrier), 900U);
}

class Rdna4Issue : public RdnaIssue {};

// What lies between the two halves of RDNA 4's barrier runs while others are still to come.
TEST_P(Rdna4Issue, WorkBetweenSignalAndWaitIsHidden) {
  const auto clocks = [&](const std::string& text) {
    TimedCode code(chip(), R"(
      v_readfirstlane_b32 s0, v1
      s_cmp_eq_u32 s0, 0
      s_cbranch_scc1 early
      s_sleep 16
      early: )" + text,
                   2);
    for (unsigned l = 0; l < 32; ++l) code.wave(1).row(1)[l] = 1;
    return code.clocks();
  };
  const std::string work = "s_cmp_eq_u32 s0, 0\ns_cbranch_scc0 late\ns_sleep 8\nlate:\n";
  EXPECT_LT(clocks("s_barrier_signal -1\n" + work + "s_barrier_wait -1"),
            clocks("s_barrier_signal -1\ns_barrier_wait -1\n" + work) - 400);
}

// Wave 4, the younger one of its SIMD, has more to do after 64 vector instructions: all end sooner if it asks for
// priority.
TEST_P(RdnaIssue, TheHigherPriorityGoesFirst) {
  const auto clocks = [&](const std::string& priority) {
    TimedCode code(chip(),
                   R"(
      v_readfirstlane_b32 s0, v1
      s_cmp_eq_u32 s0, 0
      s_cbranch_scc1 work
      )" + priority + "\nwork:\n" +
                       repeat(64, "v_add_f32 v2, v3, v4") + R"(
      s_cmp_eq_u32 s0, 0
      s_cbranch_scc1 done
      s_sleep 16
      done:)",
                   5);
    for (unsigned l = 0; l < 32; ++l) code.wave(4).row(1)[l] = 1;
    return code.clocks();
  };
  EXPECT_GE(clocks("s_nop 0"), clocks("s_setprio 3") + 40);
}

INSTANTIATE_TEST_SUITE_P(Each, RdnaIssue, testing::ValuesIn(chips_of(rdna)), chip_name);
INSTANTIATE_TEST_SUITE_P(Each, Rdna4Issue, testing::ValuesIn(chips_of(gfx12)), chip_name);

}  // namespace
}  // namespace rapt::sim::test
