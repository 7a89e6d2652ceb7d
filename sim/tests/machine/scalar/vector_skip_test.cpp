// gfx9's MODE.vskip: vector instructions are skipped (CDNA ISA documents, "Mode register", "S_SETVSKIP").
#include "sim/tests/support/profiled_code.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

class VectorSkip : public testing::TestWithParam<Arch> {};

TEST_P(VectorSkip, ScalarInstructionsAloneRun) {
  const Block memory(256);
  const bool named_as_mi300 = GetParam() == Arch::gfx942 || GetParam() == Arch::gfx950;
  const std::string mfma = named_as_mi300 ? "v_mfma_f32_4x4x1_16b_f32" : "v_mfma_f32_4x4x1f32";
  const std::string product =
      GetParam() == Arch::gfx906 ? "v_dot2_f32_f16 v4, v1, v1, v1" : mfma + " a[0:3], v1, v1, a[0:3]";
  ProfiledCode code(GetParam(), R"(
    v_mov_b32 v1, 1.0
    s_mov_b32 s4, 8
    s_mov_b32 s5, 5
    s_mov_b32 s7, 35
    s_setvskip s4, 3
    s_nop 1
    v_mov_b32 v1, 2.0
    v_cmp_eq_u32 vcc, v0, v0
    v_readfirstlane_b32 s5, v0
    v_pk_add_f16 v1, v1, v1
    )" + product + R"(
    global_store_dword v0, v1, s[2:3]
    global_load_dword v1, v0, s[2:3]
    buffer_load_dword v1, off, s[12:15], 0
    ds_write_b32 v0, v1
    s_load_dword s8, s[2:3], 0x10
    s_add_u32 s6, s5, 1
    s_setvskip s4, 2
    v_mov_b32 v2, 4.0
    s_setvskip s4, s7
    s_getreg_b32 s9, hwreg(HW_REG_MODE, 28, 1)
    v_mov_b32 v2, 0
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 0
    v_mov_b32 v3, 0.5
    s_endpgm)");
  Wave& w = code.wave();
  w.set_pair(2, memory.address());
  w.set_pair(sreg::vcc, 7);
  memory.at<std::uint32_t>(0) = 77;
  memory.at<std::uint32_t>(4) = 99;
  code.run();

  EXPECT_EQ(w.row(1)[5], 0x3f800000U);
  EXPECT_EQ(w.row(2)[5], 0x40800000U) << "off again: bit 2 of s4 is clear";
  EXPECT_EQ(w.row(3)[5], 0x3f000000U);
  EXPECT_EQ(w.pair(sreg::vcc), 7U);
  EXPECT_EQ(memory.at<std::uint32_t>(0), 77U);
  EXPECT_EQ(w.sgpr[6], 6U) << "scalar instructions run, and s5 is as it was";
  EXPECT_EQ(w.sgpr[8], 99U);
  EXPECT_EQ(w.sgpr[9], 1U) << "five bits of the second source count";
  EXPECT_EQ(w.memory_operations, 0U) << "vmcnt does not count them";

  using enum InstructionClass;
  EXPECT_EQ(code.counted().totals.instructions, w.instructions - 10) << "those that were passed over do not count";
  EXPECT_EQ(code.count(vector), 3U);
  for (const InstructionClass none : {matrix, global_store, global_load, buffer_load, lds})
    EXPECT_EQ(code.count(none), 0U) << name(none);
  EXPECT_EQ(code.clocks(Pipe::vector), 3U * 4);
  EXPECT_EQ(code.counted().totals.memory.bytes, 0U);
}

// A loop whose body is partly skipped is still a loop in the report, with only the part that ran.
TEST_P(VectorSkip, ProfilesCountWhatRan) {
  ProfiledCode code(GetParam(), R"(
    s_mov_b32 s0, 4
  loop:
    s_setvskip s0, 0
    v_add_f32 v1, v1, v1
    s_setvskip 0, 0
    v_exp_f32 v2, v1
    s_sub_u32 s0, s0, 1
    s_cmp_lg_u32 s0, 0
    s_cbranch_scc1 loop
    s_endpgm)");
  code.run();
  using enum InstructionClass;
  EXPECT_EQ(code.count(vector), 2U) << "where s0 is 4 and 2";
  EXPECT_EQ(code.count(transcendental), 4U);
  const unsigned exp_clocks = GetParam() == Arch::gfx950 ? 8 : 16;
  const KernelReport report = code.report();
  ASSERT_EQ(report.loops.size(), 1U);
  EXPECT_EQ(report.loops[0].totals.classes[static_cast<unsigned>(vector)], 2U);
  EXPECT_EQ(report.loops[0].totals.clocks[static_cast<unsigned>(Pipe::vector)], 2U * 4 + 4 * exp_clocks);
}

INSTANTIATE_TEST_SUITE_P(Architectures, VectorSkip,
                         testing::Values(Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace
}  // namespace rapt::sim::test
