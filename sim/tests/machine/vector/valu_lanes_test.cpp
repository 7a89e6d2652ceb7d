// Moves between lanes and registers: lanes read and written, permutations, selections, indexed registers, VOPD.
#include "sim/tests/support/memory_wave.hpp"
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

void number_lanes(OneWave& wave, unsigned reg, std::uint32_t base) {
  for (unsigned l = 0; l < wave.wave().lanes; ++l) wave.v(reg, l) = base + l;
}

TEST(ValuLanes, ReadAndWrite) {
  for (const Arch arch : archs_with("v_readlane_b32")) {
    OneWave wave(arch);
    const unsigned lanes = wave.wave().lanes;
    number_lanes(wave, 10, 100);
    wave.wave().set_pair(sreg::exec, 0xffff0);
    wave.s(5) = lanes + 3;  // the lane's number is taken modulo the wave's size
    wave.run("v_readfirstlane_b32 s4, v10\nv_readlane_b32 s6, v10, 31\nv_readlane_b32 s7, v10, s5");
    EXPECT_EQ(wave.s(4), 104U);
    EXPECT_EQ(wave.s(6), 131U);
    EXPECT_EQ(wave.s(7), 103U);
    wave.run("v_writelane_b32 v10, s4, 2");
    EXPECT_EQ(wave.v(10, 2), 104U);
    EXPECT_EQ(wave.v(10, 3), 103U);
    wave.wave().set_pair(sreg::exec, 0);
    wave.run("v_readfirstlane_b32 s4, v10");
    EXPECT_EQ(wave.s(4), 100U);
  }
}

TEST(ValuLanes, BitsBelow) {
  for (const Target& target : every_target()) {
    const unsigned lanes = target.lanes;
    OneWave wave(target.arch, lanes);
    wave.s(4) = 0xf0f00f01;
    wave.run("v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0\nv_mbcnt_lo_u32_b32 v1, s4, 7");
    for (unsigned l = 0; l < lanes; ++l) {
      EXPECT_EQ(wave.v(0, l), l);
      std::uint32_t count = 7;
      for (unsigned k = 0; k < std::min(l, 32U); ++k) count += 0xf0f00f01U >> k & 1;
      EXPECT_EQ(wave.v(1, l), count);
    }
  }
}

// Trap: literal selectors are not 0.
TEST(ValuLanes, Permute16) {
  for (const Target& target : every_target()) {
    if (is_cdna(target.arch)) continue;
    const unsigned lanes = target.lanes;
    OneWave wave(target.arch, lanes);
    number_lanes(wave, 10, 100);
    wave.s(4) = 0x01234567;
    wave.run("v_permlane16_b32 v0, v10, 0x76543210, s4\nv_permlanex16_b32 v1, v10, s4, 0x89abcdef");
    for (unsigned l = 0; l < lanes; ++l) {
      const unsigned row = l - l % 16, k = l % 16;
      const unsigned straight = k < 8 ? k : 15 - k, crossed = k < 8 ? 7 - k : 23 - k;
      EXPECT_EQ(wave.v(0, l), 100 + row + straight) << l;
      EXPECT_EQ(wave.v(1, l), 100 + (row ^ 16) + crossed) << l;
    }
    // An inactive source lane: nothing, 0 with bound_ctrl, its value with fetch inactive.
    wave.wave().set_pair(sreg::exec, wave.wave().all_lanes() & ~std::uint64_t{1});
    wave.fill(0, 7);
    wave.run("v_permlane16_b32 v0, v10, 0, 0");
    EXPECT_EQ(wave.v(0, 1), 7U);
    wave.run("v_permlane16_b32 v0, v10, 0, 0 op_sel:[0,1]");
    EXPECT_EQ(wave.v(0, 1), 0U);
    wave.run("v_permlane16_b32 v0, v10, 0, 0 op_sel:[1,0]");
    EXPECT_EQ(wave.v(0, 1), 100U);
    EXPECT_EQ(wave.v(0, 0), 7U);
  }
}

TEST(ValuLanes, Permute16ByRegister) {
  OneWave wave(Arch::gfx1201);
  number_lanes(wave, 10, 100);
  for (unsigned l = 0; l < 32; ++l) wave.v(11, l) = 5 * l + 0x30;
  wave.run("v_permlane16_var_b32 v0, v10, v11\nv_permlanex16_var_b32 v1, v10, v11");
  for (unsigned l = 0; l < 32; ++l) {
    EXPECT_EQ(wave.v(0, l), 100 + l / 16 * 16 + 5 * l % 16);
    EXPECT_EQ(wave.v(1, l), 100 + (1 - l / 16) * 16 + 5 * l % 16);
  }
}

TEST(ValuLanes, HalvesOfAWave) {
  for (const Arch arch : archs_with("v_permlane64_b32")) {
    SCOPED_TRACE(rapt::sim::name(arch));
    OneWave wide(arch, 64), narrow(arch, 32);
    number_lanes(wide, 10, 100);
    wide.wave().set_pair(sreg::exec, 0xffffffff);  // inactive lanes are read
    wide.run("v_permlane64_b32 v10, v10");
    EXPECT_EQ(wide.v(10, 3), 135U);
    EXPECT_EQ(wide.v(10, 35), 135U);
    number_lanes(narrow, 10, 100);
    narrow.fill(0, 7);
    narrow.run("v_permlane64_b32 v0, v10");
    EXPECT_EQ(narrow.v(0, 3), 7U);
  }
}

TEST(ValuLanes, SwapsOfRows) {
  OneWave wave(Arch::gfx950);
  number_lanes(wave, 10, 100);
  number_lanes(wave, 20, 200);
  wave.run("v_permlane16_swap_b32 v10, v20");
  for (unsigned l = 0; l < 64; ++l) {
    EXPECT_EQ(wave.v(10, l), l % 32 < 16 ? 100 + l : 200 + l - 16) << l;
    EXPECT_EQ(wave.v(20, l), l % 32 < 16 ? 100 + l + 16 : 200 + l) << l;
  }
  number_lanes(wave, 10, 100);
  number_lanes(wave, 20, 200);
  wave.run("v_permlane32_swap_b32 v10, v20");
  for (unsigned l = 0; l < 64; ++l) {
    EXPECT_EQ(wave.v(10, l), l < 32 ? 100 + l : 200 + l - 32) << l;
    EXPECT_EQ(wave.v(20, l), l < 32 ? 100 + l + 32 : 200 + l) << l;
  }
}

TEST(ValuMove, Select) {
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    OneWave wave(static_cast<Arch>(n), 64);
    number_lanes(wave, 10, 100);
    number_lanes(wave, 20, 200);
    wave.wave().set_pair(sreg::vcc, 0xaaaaaaaaaaaaaaaa);
    wave.wave().set_pair(4, 0x0f);
    wave.run("v_cndmask_b32 v0, v10, v20, vcc\nv_cndmask_b32_e64 v1, v10, 7, s[4:5]");
    for (unsigned l = 0; l < 64; ++l) {
      EXPECT_EQ(wave.v(0, l), l % 2 == 1 ? 200 + l : 100 + l);
      EXPECT_EQ(wave.v(1, l), l < 4 ? 7 : 100 + l);
    }
  }
}

TEST(ValuMove, Swap) {
  for (const Arch arch : archs_with("v_swap_b32")) {
    OneWave wave(arch);
    number_lanes(wave, 10, 100);
    number_lanes(wave, 20, 200);
    wave.wave().set_pair(sreg::exec, 1);
    wave.run("v_swap_b32 v10, v20");
    EXPECT_EQ(wave.v(10, 0), 200U);
    EXPECT_EQ(wave.v(20, 0), 100U);
    EXPECT_EQ(wave.v(10, 1), 101U);
  }
}

TEST(ValuMove, Accumulators) {
  for (const Arch arch : archs_with("v_accvgpr_read_b32")) {
    OneWave wave(arch);
    number_lanes(wave, 10, 200);
    wave.wave().set_pair(sreg::exec, 1);
    wave.run("v_accvgpr_write_b32 a3, v10\nv_accvgpr_read_b32 v5, a3\nv_accvgpr_write_b32 a6, 1.0");
    EXPECT_EQ(wave.a(3, 0), 200U);
    EXPECT_EQ(wave.v(5, 0), 200U);
    EXPECT_EQ(wave.a(6, 0), bits_of(1.0F));
    EXPECT_EQ(wave.a(6, 1), 0U);
    if (!has(arch, "v_accvgpr_mov_b32")) continue;
    wave.run("v_accvgpr_mov_b32 a4, a3");
    EXPECT_EQ(wave.a(4, 0), 200U);
    EXPECT_EQ(wave.a(4, 1), 0U);
  }
}

TEST(ValuMove, RelativeRegisters) {
  for (const Arch arch : archs_with("v_movreld_b32")) {
    SCOPED_TRACE(rapt::sim::name(arch));
    OneWave wave(arch);
    for (unsigned r = 0; r < 60; ++r) wave.fill(r, 1000 + r);
    wave.s(sreg::m0) = 10;
    wave.run("v_movreld_b32 v5, v7\nv_movrels_b32 v6, v7");
    EXPECT_EQ(wave.v(15), 1007U);
    EXPECT_EQ(wave.v(6), 1017U);
    wave.run("v_movrelsd_b32 v20, v21");
    EXPECT_EQ(wave.v(30), 1031U);
    wave.s(sreg::m0) = 20U << 16 | 10;
    wave.run("v_movrelsd_2_b32 v21, v22\nv_swaprel_b32 v5, v7");
    EXPECT_EQ(wave.v(41), 1032U);
    EXPECT_EQ(wave.v(25), 1017U);
    EXPECT_EQ(wave.v(17), 1025U);
    wave.s(sreg::m0) = 300;
    EXPECT_THROW(wave.run("v_movreld_b32 v5, v7"), Fault);
  }
}

// gfx9's index mode moves the operands that M0 names, of any vector operation.
TEST(ValuMove, IndexMode) {
  OneWave wave(Arch::gfx942);
  for (unsigned r = 0; r < 60; ++r) wave.fill(r, 1000 + r);
  wave.s(4) = 3;
  wave.run(
      "s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v30, v10\nv_add_u32 v31, v10, v10\ns_set_gpr_idx_mode "
      "gpr_idx(DST)\n"
      "v_mov_b32 v32, v10\ns_set_gpr_idx_mode gpr_idx(SRC1,DST)\nv_add_u32 v40, v10, v10\ns_set_gpr_idx_mode "
      "gpr_idx(SRC0)\n"
      "v_readlane_b32 s6, v10, 0\ns_set_gpr_idx_off\nv_mov_b32 v50, v10");
  EXPECT_EQ(wave.v(30), 1013U);
  EXPECT_EQ(wave.v(31), 2023U);
  EXPECT_EQ(wave.v(35), 1010U);
  EXPECT_EQ(wave.v(43), 2023U);
  EXPECT_EQ(wave.s(6), 1013U);
  EXPECT_EQ(wave.v(50), 1010U);
  // The accumulator of v_fmac is the destination.
  for (unsigned r = 0; r < 60; ++r) wave.fill(r, bits_of(static_cast<float>(r)));
  wave.run("s_set_gpr_idx_on s4, gpr_idx(DST)\nv_fmac_f32 v20, v2, v5\ns_set_gpr_idx_off");
  EXPECT_EQ(wave.f(20), 20.0F);
  EXPECT_EQ(wave.f(23), 33.0F);
  wave.s(4) = 250;
  EXPECT_THROW(wave.run("s_set_gpr_idx_on s4, gpr_idx(SRC0)\nv_mov_b32 v30, v10"), Fault);
}

}  // namespace
}  // namespace rapt::sim::test
