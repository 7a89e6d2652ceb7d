// CDNA: kernels of a few instructions, each with one rate or latency: the model must return the table's value.
#include "sim/tests/support/timed_code.hpp"

namespace rapt::sim::test {
namespace {

using timing::Chip;
using timing::Stall;

class CdnaIssue : public testing::TestWithParam<const Chip*> {
 protected:
  const Chip& chip() const { return *GetParam(); }
  std::uint64_t clocks(const std::string& text, unsigned waves = 1) { return TimedCode(chip(), text, waves).clocks(); }
  // The clocks of one more `text`, where there are many.
  double each(const std::string& text, unsigned waves = 1) {
    return static_cast<double>(clocks(repeat(48, text), waves) - clocks(repeat(16, text), waves)) / 32;
  }

  bool new_names() const { return chip().arch == Arch::gfx942 || chip().arch == Arch::gfx950; }
  char results() const { return chip().arch == Arch::gfx908 ? 'a' : 'v'; }  // the registers of products' results
  std::string range(char file, unsigned first, unsigned count) const {
    return std::string(1, file) + '[' + std::to_string(first) + ':' + std::to_string(first + count - 1) + ']';
  }
  // d = a * b + c, where c is d or other registers, and a the register pair `a` of `file`
  std::string product(unsigned d, bool accumulate, char file = 'v', unsigned a = 32) const {
    const std::string registers = range(results(), d, 16);
    return std::string("v_mfma_f32_32x32x8") + (new_names() ? "_f16 " : "f16 ") + registers + ", " + range(file, a, 2) +
           ", v[34:35], " + (accumulate ? registers : range(results(), 64, 16)) + '\n';
  }
  std::string small_product() const {
    const std::string registers = range(results(), 0, 4);
    return std::string("v_mfma_f32_16x16x16") + (new_names() ? "_f16 " : "f16 ") + registers +
           ", v[32:33], v[34:35], " + registers;
  }
  double product_clocks() const { return new_names() ? 32 : 64; }
};

TEST_P(CdnaIssue, VectorInstructionsTakeFourClocks) {
  EXPECT_EQ(each("v_add_f32 v1, v1, v2"), 4);  // a dependent one too
  if (chip().arch != Arch::gfx908) {
    EXPECT_EQ(each("v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[8:9]"), 4);
  }
  EXPECT_EQ(each("v_exp_f32 v1, v2"), chip().arch == Arch::gfx950 ? 8 : 16);
}

TEST_P(CdnaIssue, ScalarInstructionsRunBesideAnotherWavesVectorInstructions) {
  EXPECT_EQ(each("s_add_u32 s1, s1, s2"), chip().scalar_clocks);
  // Waves 0 and 4 share a SIMD.
  EXPECT_EQ(each("s_add_u32 s1, s1, s2\nv_add_f32 v1, v1, v2", 5), 8);
  EXPECT_EQ(each("v_add_f32 v1, v1, v2", 5), 8);
  EXPECT_EQ(each("v_add_f32 v1, v1, v2", 4), 4);
}

TEST_P(CdnaIssue, ProductsTakeTheirPasses) {
  const double clocks = product_clocks();
  EXPECT_EQ(each(product(0, true)), clocks);
  EXPECT_EQ(each(product(0, false)), clocks);
  EXPECT_EQ(each(small_product()), clocks / 2);
  // Four SIMDs have a matrix unit each; five waves share four.
  EXPECT_EQ(each(product(0, true), 4), clocks);
  EXPECT_EQ(each(product(0, true), 5), 2 * clocks);
}

TEST_P(CdnaIssue, VectorInstructionsHideBehindAProduct) {
  const double issue = chip().arch == Arch::gfx908 ? 8 : 4;  // clocks of the vector port
  const auto hidden = static_cast<unsigned>((product_clocks() - issue) / 4);
  EXPECT_EQ(each(product(0, true) + repeat(hidden, "v_add_f32 v40, v40, v41")), product_clocks());
  EXPECT_EQ(each(product(0, true) + repeat(hidden + 1, "v_add_f32 v40, v40, v41")), product_clocks() + 4);
  if (chip().arch == Arch::gfx908) return;
  // Packed ones do not.
  EXPECT_GE(each(product(0, true) + repeat(2, "v_pk_add_f32 v[40:41], v[40:41], v[42:43]")), product_clocks() + 8);
}

TEST_P(CdnaIssue, AProductsResultIsReadAfterItsLastPass) {
  const double latency = product_clocks() + chip().matrix_tail_clocks;
  const std::string read = results() == 'a' ? "v_accvgpr_read_b32 v40, a3" : "v_add_f32 v40, v3, v3";
  EXPECT_EQ(each(product(0, false) + read), latency + 4);
  EXPECT_EQ(each(product(0, false) + product(16, true, results(), 0)), latency + product_clocks());
  EXPECT_EQ(each(product(0, false) + "v_add_f32 v40, v41, v41"), product_clocks());
}

TEST_P(CdnaIssue, WaitsAndNoOperations) {
  EXPECT_EQ(each("s_nop 0"), 4);
  EXPECT_EQ(each("s_nop 7"), 32);
  EXPECT_EQ(each("s_sleep 2"), 128);
}

TEST_P(CdnaIssue, ATakenBranch) {
  const auto loop = [&](unsigned rounds) {
    return clocks("s_mov_b32 s0, " + std::to_string(rounds) +
                  "\nloop:\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 loop");
  };
  EXPECT_EQ((loop(48) - loop(16)) / 32, 2 * chip().scalar_clocks + chip().refetch_clocks);
}

TEST_P(CdnaIssue, WavesWaitAtABarrier) {
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

TEST_P(CdnaIssue, TheHigherPriorityGoesFirst) {
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

INSTANTIATE_TEST_SUITE_P(Each, CdnaIssue, testing::ValuesIn(chips_of(cdna & ~only(Arch::gfx906))), chip_name);

}  // namespace
}  // namespace rapt::sim::test
