// The sanitizer's check of barrier divergence.
#include "sim/tests/support/checked_group.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

constexpr CheckOptions only_barriers{.barriers = true};

std::string barriers(Arch arch, const std::vector<std::string>& programs, const std::vector<unsigned>& order) {
  return CheckedGroup(arch, programs, only_barriers).run(order);
}

TEST(Barriers, SameBarrierIsSilent) {
  const std::string both = "s_barrier\ns_nop 0\ns_barrier";
  // One program, because the barriers must be the same instructions; s0 tells the waves apart.
  CheckedGroup group(Arch::gfx942, {both, both}, only_barriers);
  group.wave(1).pc = group.wave(0).pc;
  EXPECT_EQ(group.run({0, 1, 0, 1, 0, 1}), "");
  EXPECT_EQ(group.wave(1).state, WaveState::ended);
}

TEST(Barriers, DifferentBarriersAreNamed) {
  const std::string found = barriers(Arch::gfx90a, {"s_barrier", "s_nop 1\ns_barrier"}, {0, 1});
  EXPECT_EQ(found.substr(0, found.find(": s_barrier")),
            "barrier divergence: wave 1 comes to s_barrier at text+0xc while wave 0 is at s_barrier at text+0x0");
  EXPECT_NE(found.find("workgroup (0, 0, 0), wave 1"), std::string::npos) << found;
}

TEST(Barriers, WavesThatLeaveFirstAreSilent) {
  EXPECT_EQ(barriers(Arch::gfx942, {"s_barrier\ns_barrier", ""}, {0, 1, 0, 0}), "");
  EXPECT_EQ(barriers(Arch::gfx1100, {"s_barrier\ns_barrier", ""}, {1, 0, 0, 0}), "");
}

TEST(Barriers, WavesThatLeaveLaterAreNamed) {
  const std::string two = "s_barrier\ns_cmp_eq_u32 s0, 1\ns_cbranch_scc1 out\ns_barrier\nout:";
  for (const auto& [order, expected] : std::vector<std::pair<std::vector<unsigned>, std::string>>{
           {{1, 0, 1},
            "barrier divergence: wave 1, which was at s_barrier at text+0x0, ends at s_endpgm at text+0x10 "
            "while wave 0 waits at s_barrier at text+0xc"},
           {{0, 1, 0},
            "barrier divergence: wave 0 comes to s_barrier at text+0xc, but wave 1 was at s_barrier at "
            "text+0x0 and then ended at s_endpgm at text+0x10"}}) {
    CheckedGroup group(Arch::gfx942, {two, two}, only_barriers);
    group.wave(1).pc = group.wave(0).pc;
    group.wave(0).sgpr[0] = 0;
    group.wave(1).sgpr[0] = 1;
    const std::string found = group.run(order);
    EXPECT_EQ(found.substr(0, expected.size()), expected);
  }
}

TEST(Barriers, EndsAfterTheLastOneAreSilent) {
  const std::string one = "s_barrier\ns_cmp_eq_u32 s0, 1\ns_cbranch_scc1 out\ns_nop 3\nout:";
  CheckedGroup group(Arch::gfx942, {one, one}, only_barriers);
  group.wave(1).pc = group.wave(0).pc;
  group.wave(1).sgpr[0] = 1;
  EXPECT_EQ(group.run({0, 1, 1, 0}), "");
}

TEST(Barriers, MaskedLanesAreOfNoAccount) {
  const std::string text = "s_mov_b64 exec, 1\ns_barrier";
  CheckedGroup group(Arch::gfx942, {text, text}, only_barriers);
  group.wave(1).pc = group.wave(0).pc;
  EXPECT_EQ(group.run({0, 1, 0, 1}), "");
}

TEST(Barriers, SplitHalvesBelongTogether) {
  const std::string good = "s_barrier_signal -1\ns_nop 0\ns_barrier_wait -1\ns_barrier_signal -1\ns_barrier_wait -1";
  CheckedGroup group(Arch::gfx1201, {good, good}, only_barriers);
  group.wave(1).pc = group.wave(0).pc;
  EXPECT_EQ(group.run({0, 1, 0, 1, 0, 1}), "");

  const std::string alone = barriers(Arch::gfx1201, {"s_barrier_wait -1"}, {0});
  EXPECT_EQ(alone.find("barrier divergence: wave 0 waits at s_barrier_wait "), 0U) << alone;
  EXPECT_NE(alone.find(" at text+0x0 without its own signal"), std::string::npos) << alone;
  EXPECT_EQ(barriers(Arch::gfx1201, {"s_barrier_signal -1\ns_nop 0"}, {0})
                .find("barrier divergence: wave 0 ends and has not waited since its signal at s_barrier_signal -1"),
            0U);
  EXPECT_EQ(barriers(Arch::gfx1201, {"s_barrier_signal -1\ns_barrier_signal -1"}, {0})
                .find("barrier divergence: wave 0 signals at s_barrier_signal -1 at text+0x4 and has not waited"),
            0U);
}

}  // namespace
}  // namespace rapt::sim::test
