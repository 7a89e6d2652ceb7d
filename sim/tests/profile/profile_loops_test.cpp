// Loops and blocks: of graphs drawn by hand, and of code with known trip counts.
#include "sim/tests/support/programs/attention.hpp"
#include "sim/tests/support/profiled_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rapt::sim::test {
namespace {

TEST(ProfileLoops, NestedWithTripCounts) {
  ProfiledCode code(Arch::gfx1100, R"(
    s_mov_b32 s0, 5
  outer:
    s_mov_b32 s1, 3
  inner:
    v_exp_f32 v1, v2
    s_sub_u32 s1, s1, 1
    s_cmp_lg_u32 s1, 0
    s_cbranch_scc1 inner
    s_mov_b32 s1, 2
  second:
    v_add_f32 v1, v1, v1
    s_sub_u32 s1, s1, 1
    s_cmp_eq_u32 s1, 0
    s_cbranch_scc0 second
    s_sub_u32 s0, s0, 1
    s_cmp_lg_u32 s0, 0
    s_cbranch_scc1 outer
    s_endpgm)");
  code.run();
  const KernelReport report = code.report();
  ASSERT_EQ(report.loops.size(), 3U);
  const LoopReport &outer = report.loops[0], &inner = report.loops[1], &second = report.loops[2];
  EXPECT_EQ(outer.header, 4);
  EXPECT_EQ(outer.last, 4 * 13);
  EXPECT_EQ(outer.latches, std::vector<std::int64_t>{4 * 13});
  EXPECT_EQ(outer.iterations, 5U);
  EXPECT_EQ(outer.entries, 1U);
  EXPECT_EQ(outer.parent, -1);
  EXPECT_EQ(outer.totals.instructions, 5U * (1 + 3 * 4 + 1 + 2 * 4 + 3));

  EXPECT_EQ(inner.header, 8);
  EXPECT_EQ(inner.last, 20);
  EXPECT_EQ(inner.iterations, 15U);
  EXPECT_EQ(inner.entries, 5U);
  EXPECT_EQ(inner.parent, 0);
  EXPECT_EQ(inner.depth, 1U);
  EXPECT_EQ(inner.totals.clocks[static_cast<unsigned>(Pipe::transcendental)], 15U * 4);
  EXPECT_EQ(largest(bounds(inner.totals, 0, Arch::gfx1100)).pipe, "transcendental");

  EXPECT_EQ(second.iterations, 10U);
  EXPECT_EQ(second.entries, 5U);
  EXPECT_EQ(second.parent, 0);
}

TEST(ProfileLoops, TwoLatchesAreOneLoop) {
  ProfiledCode code(Arch::gfx942, R"(
    s_mov_b32 s0, 6
  head:
    s_sub_u32 s0, s0, 1
    s_and_b32 s1, s0, 1
    s_cbranch_scc1 head
    s_cmp_lg_u32 s0, 0
    s_cbranch_scc1 head
    s_endpgm)");
  code.run();
  const KernelReport report = code.report();
  ASSERT_EQ(report.loops.size(), 1U);
  EXPECT_EQ(report.loops[0].latches, (std::vector<std::int64_t>{12, 20}));
  EXPECT_EQ(report.loops[0].iterations, 6U);
  EXPECT_EQ(report.loops[0].entries, 1U);
}

TEST(ProfileLoops, StraightCodeIsOneBlock) {
  ProfiledCode code(Arch::gfx942, R"(
    s_cmp_eq_u32 s0, 0
    s_cbranch_scc0 skipped
    v_mov_b32 v1, v2
  skipped:
    s_endpgm)");
  code.run();
  const KernelReport report = code.report();
  EXPECT_TRUE(report.loops.empty());
  ASSERT_EQ(report.blocks.size(), 2U);  // the branch, never taken, ends one
  EXPECT_EQ(report.blocks[0].end, 8);
  EXPECT_EQ(report.blocks[1].totals.instructions, 2U);
}

// A function that is called twice is not part of a loop around a call, and its code is counted once.
TEST(ProfileLoops, CallsComeBack) {
  ProfiledCode code(Arch::gfx942, R"(
    s_mov_b32 s0, 4
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, 40
    s_addc_u32 s5, s5, 0
  loop:
    s_swappc_b64 s[6:7], s[4:5]
    s_sub_u32 s0, s0, 1
    s_cmp_lg_u32 s0, 0
    s_cbranch_scc1 loop
    s_endpgm
    s_nop 0
    s_nop 0
    s_nop 0
    v_add_f32 v1, v1, v1
    s_setpc_b64 s[6:7])");
  code.run();
  const KernelReport report = code.report();
  ASSERT_EQ(report.loops.size(), 1U);
  EXPECT_EQ(report.loops[0].iterations, 4U);
  EXPECT_EQ(report.loops[0].totals.instructions, 16U);
  EXPECT_EQ(report.totals.instructions, 4U + 16 + 1 + 8);
}

// 4 S^2 D operations per head, in products of 2 m n k: all are in the loop over the keys.
TEST(ProfileLoops, OfAnAttentionKernel) {
  struct Case {
    Arch arch;
    double operations;
    unsigned clocks;
  };
  for (const Case& c : {Case{Arch::gfx942, 2.0 * 32 * 32 * 8, 32}, Case{Arch::gfx1201, 2.0 * 16 * 16 * 16, 16}}) {
    constexpr unsigned seqlen = 512, heads = 2;
    Attention attention(c.arch, seqlen, heads, 1, "-O3 -g");
    Profiler profiler;
    attention.profile(profiler);
    const LaunchResult result = attention.run();
    ASSERT_EQ(profiler.kernels().size(), 1U);
    const KernelReport report = analyse(profiler.kernels()[0]);
    EXPECT_EQ(report.totals.instructions, result.instructions);
    const double products = 4.0 * seqlen * seqlen * Attention::head_dim * heads / c.operations;
    const auto of = [](const Totals& t) { return t.classes[static_cast<unsigned>(InstructionClass::matrix)]; };
    EXPECT_EQ(of(report.totals), products) << name(c.arch);
    EXPECT_EQ(report.totals.clocks[static_cast<unsigned>(Pipe::matrix)], products * c.clocks) << name(c.arch);
    ASSERT_FALSE(report.loops.empty());
    const auto keys = std::max_element(report.loops.begin(), report.loops.end(),
                                       [&](const auto& a, const auto& b) { return of(a.totals) < of(b.totals); });
    EXPECT_EQ(of(keys->totals), products) << name(c.arch);
    EXPECT_EQ(keys->entries, profiler.kernels()[0].waves) << name(c.arch);
    EXPECT_FALSE(report.lines.empty());
  }
}

FlowInstruction jump(std::uint32_t slot, std::uint32_t target, std::uint64_t executed, std::uint64_t taken) {
  return {slot, slot + 1, executed, taken, target, false};
}

// Two ways into a cycle: no block of it dominates the others, so it is not a natural loop.
TEST(ProfileLoops, IrreducibleCyclesAreNone) {
  const Flow flow = find_flow({jump(0, 2, 10, 5), jump(1, 2, 25, 0), jump(2, 1, 25, 20), {3, 4, 5, 0, {}, true}});
  EXPECT_TRUE(flow.loops.empty());
  EXPECT_EQ(flow.blocks.size(), 4U);
}

TEST(ProfileLoops, LongCodeAndBranchesOutOfIt) {
  std::vector<FlowInstruction> code;
  for (std::uint32_t n = 0; n < 50000; ++n) code.push_back(jump(n, n + 1, 1, 1));
  code.push_back(jump(50000, 1U << 30, 1, 1));
  EXPECT_TRUE(find_flow(code).loops.empty());
  EXPECT_TRUE(find_flow({}).blocks.empty());
  const Flow self = find_flow({jump(7, 7, 9, 8)});
  ASSERT_EQ(self.loops.size(), 1U);
  EXPECT_EQ(self.loops[0].entries, 1U);
}

}  // namespace
}  // namespace rapt::sim::test
