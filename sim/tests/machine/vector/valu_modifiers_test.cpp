// Modifiers of sources and results, register halves, and SDWA.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

TEST(ValuModifiers, AbsThenNeg) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx1100}) {
    OneWave wave(arch);
    wave.fill(10, bits_of(-3.0F));
    wave.fill(20, bits_of(5.0F));
    wave.run("v_add_f32_e64 v0, -|v10|, v20\nv_add_f32_e64 v1, |v10|, -v20\nv_mul_f32_e64 v2, -v10, -1.0");
    EXPECT_EQ(wave.f(0), 2.0F);
    EXPECT_EQ(wave.f(1), -2.0F);
    EXPECT_EQ(wave.f(2), -3.0F);
    // Signs of NaNs and zeros change too.
    wave.fill(10, 0x7fc00123);
    wave.fill(20, 0);
    wave.run("v_add_f32_e64 v0, -v10, v20\nv_max_f32_e64 v1, -v20, -v20");
    EXPECT_EQ(wave.v(0), 0xffc00123U);
    EXPECT_EQ(wave.v(1), 0x80000000U);
    wave.set_v64(10, 0, bits_of(-2.0));
    wave.run("v_add_f64 v[0:1], |v[10:11]|, -v[10:11]");
    EXPECT_EQ(as_double(wave.v64(0)), 4.0);
    wave.wave().set_pair(sreg::vcc, 0);
    wave.fill(10, bits_of(-3.0F));
    wave.run("v_cndmask_b32_e64 v0, |v10|, v20, vcc" + std::string(arch == Arch::gfx1100 ? "_lo" : ""));
    EXPECT_EQ(wave.f(0), 3.0F);
  }
}

TEST(ValuModifiers, ClampAndNan) {
  OneWave wave(Arch::gfx942);
  for (const auto& [in, out] :
       std::map<float, float>{{-2.0F, 0.0F}, {-0.0F, 0.0F}, {0.25F, 0.25F}, {1.5F, 1.0F}, {INFINITY, 1.0F}}) {
    wave.fill(10, bits_of(in));
    wave.run("v_mul_f32_e64 v0, v10, 1.0 clamp\nv_max_f32_e64 v1, v10, v10 clamp");
    EXPECT_EQ(wave.v(0), bits_of(out)) << in;
    EXPECT_EQ(wave.v(1), bits_of(out)) << in;
    wave.fill(11, nearest_half(in));
    wave.run("v_mul_f16_e64 v0, v11, 1.0 clamp");
    EXPECT_EQ(wave.v(0), nearest_half(out)) << in;
  }
  wave.fill(10, 0x7fc00000);
  wave.run("v_mul_f32_e64 v0, v10, 1.0 clamp");
  EXPECT_EQ(wave.v(0), 0U);
  wave.wave().mode &= ~mode::dx10_clamp;
  wave.run("v_mul_f32_e64 v0, v10, 1.0 clamp");
  EXPECT_EQ(wave.v(0), 0x7fc00000U);
  OneWave rdna4(Arch::gfx1201);
  rdna4.wave().mode = mode::denorm_f32 | mode::denorm_f16_f64;
  rdna4.fill(10, 0x7fc00000);
  rdna4.run("v_mul_f32_e64 v0, v10, 1.0 clamp");
  EXPECT_EQ(rdna4.v(0), 0U);
}

// Output modifiers only count if the mode flushes denormals and, up to gfx11, does not have the IEEE bit.
TEST(ValuModifiers, Omod) {
  OneWave wave(Arch::gfx942);
  wave.fill(10, bits_of(3.0F));
  wave.fill(20, 0x80000000);
  const auto run = [&] {
    wave.run(
        "v_mul_f32_e64 v0, v10, 1.0 mul:2\nv_mul_f32_e64 v1, v10, 1.0 mul:4\nv_mul_f32_e64 v2, v10, 1.0 div:2\n"
        "v_mul_f32_e64 v3, v20, 1.0 mul:2");
    return std::array{wave.f(0), wave.f(1), wave.f(2)};
  };
  EXPECT_EQ(run(), (std::array{3.0F, 3.0F, 3.0F}));
  wave.wave().mode &= ~mode::ieee;
  EXPECT_EQ(run(), (std::array{3.0F, 3.0F, 3.0F}));
  wave.wave().mode &= ~mode::denorm_f32;
  EXPECT_EQ(run(), (std::array{6.0F, 12.0F, 1.5F}));
  EXPECT_EQ(wave.v(3), 0U);
  wave.run("v_mul_f32_e64 v0, v10, -1.0 clamp mul:4\nv_mul_f32_e64 v1, v10, 0.5 clamp div:2");
  EXPECT_EQ(wave.v(0), 0U);
  EXPECT_EQ(wave.f(1), 0.75F);
}

TEST(ValuModifiers, HalvesByOpSel) {
  for (const Arch arch : archs_with("v_pack_b32_f16")) {
    SCOPED_TRACE(rapt::sim::name(arch));
    OneWave wave(arch);
    wave.fill(10, nearest_half(2.0) | nearest_half(3.0) << 16);
    wave.fill(20, nearest_half(5.0) | nearest_half(7.0) << 16);
    wave.fill(30, nearest_half(1.0) | nearest_half(0.5) << 16);
    wave.fill(0, 0xdeadbeef);
    wave.run("v_fma_f16 v0, v10, v20, v30 op_sel:[1,0,1,0]");
    EXPECT_EQ(wave.v(0), 0xdead0000U | nearest_half(15.5));
    wave.fill(0, 0xdeadbeef);
    wave.run("v_fma_f16 v0, v10, v20, v30 op_sel:[0,1,0,1]");
    EXPECT_EQ(wave.v(0), 0xbeefU | nearest_half(15.0) << 16);
    wave.run("v_pack_b32_f16 v0, v10, v20 op_sel:[1,0,0]");
    EXPECT_EQ(wave.v(0), nearest_half(3.0) | nearest_half(5.0) << 16);
    wave.fill(10, 0x00070005);
    wave.fill(20, 0x00030002);
    wave.fill(30, 100);
    wave.run("v_mad_u32_u16 v0, v10, v20, v30 op_sel:[1,0,0,0]");
    EXPECT_EQ(wave.v(0), 114U);
  }
}

TEST(ValuModifiers, TrueHalfRegisters) {
  for (const Arch arch : archs_with("v_mov_b16")) {
    SCOPED_TRACE(rapt::sim::name(arch));
    OneWave wave(arch);
    wave.fill(10, nearest_half(2.0) | nearest_half(3.0) << 16);
    wave.fill(20, nearest_half(5.0) | nearest_half(7.0) << 16);
    wave.fill(0, 0xdeadbeef);
    wave.run("v_add_f16 v0.h, v10.h, v20.l");
    EXPECT_EQ(wave.v(0), 0xbeefU | nearest_half(8.0) << 16);
    wave.run("v_add_f16 v0.l, v10.l, v20.h");
    EXPECT_EQ(wave.v(0), nearest_half(9.0) | nearest_half(8.0) << 16);
    wave.run("v_mov_b16 v0.l, v0.h");
    EXPECT_EQ(wave.v(0), nearest_half(8.0) * 0x10001U);
    wave.run("v_fmac_f16 v0.h, v10.h, v20.h");
    EXPECT_EQ(wave.v(0), nearest_half(8.0) | nearest_half(29.0) << 16);
    wave.run("v_add_nc_u16 v0.h, v0.l, 1");
    EXPECT_EQ(wave.v(0), nearest_half(8.0) | (nearest_half(8.0) + 1) << 16);
    wave.run("v_cvt_f32_f16 v1, v20.h\nv_cvt_f16_f32 v0.l, v1");
    EXPECT_EQ(wave.f(1), 7.0F);
    EXPECT_EQ(wave.v(0) & 0xffff, nearest_half(7.0));
    wave.run("v_swap_b16 v10.l, v20.h");
    EXPECT_EQ(wave.v(10), nearest_half(7.0) | nearest_half(3.0) << 16);
    EXPECT_EQ(wave.v(20), nearest_half(5.0) | nearest_half(2.0) << 16);
    wave.s(4) = nearest_half(4.0) << 16;
    wave.run("v_add_f16 v0.l, s4, v10.h op_sel:[1,1,0]");
    EXPECT_EQ(wave.v(0) & 0xffff, nearest_half(7.0));
    // High registers can only be named in VOP3.
    wave.fill(200, nearest_half(0.5) << 16);
    wave.run("v_add_f16 v201.h, v200.h, v200.h");
    EXPECT_EQ(wave.v(201) >> 16, nearest_half(1.0));
  }
}

TEST(ValuModifiers, Fp16OverflowGivesTheGreatestNumber) {
  OneWave wave(Arch::gfx942);
  wave.wave().mode |= mode::fp16_ovfl;
  wave.fill(10, 0x7bff);
  wave.run("v_add_f16 v0, v10, v10");
  EXPECT_EQ(wave.v(0), 0x7bffU);
  wave.fill(10, 0xfc00);
  wave.run("v_add_f16 v0, v10, v10");
  EXPECT_EQ(wave.v(0), 0xfc00U);
}

TEST(ValuModifiers, Sdwa) {
  OneWave wave(Arch::gfx90a);
  wave.fill(10, 0x11228344);
  wave.fill(20, 0x55667788);
  wave.fill(0, 0xaabbccdd);
  const auto check = [&](const std::string& text, std::uint32_t want) {
    wave.fill(0, 0xaabbccdd);
    wave.run(text);
    EXPECT_EQ(wave.v(0), want) << text;
  };
  const std::string add = "v_add_u32_sdwa v0, v10, v20 ";
  check(add + "dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:BYTE_0", 0x83 + 0x88);
  check("v_add_u32_sdwa v0, sext(v10), v20 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
        0x5566 - 0x7d);
  check(add + "dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:BYTE_0", 0xaa99ccdd);
  check(add + "dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:BYTE_0", 0x00009900);
  check(add + "dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_3 src1_sel:BYTE_0", 0xffff9900);
  check(add + "dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 src1_sel:DWORD", 0xfaccccdd);
  check(add + "dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:WORD_0 src1_sel:DWORD", 0xfffffacc);
  check("v_mov_b32_sdwa v0, v10 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0", 0x8344ccdd);
  // Floating-point modifiers apply to the selected value.
  wave.fill(10, nearest_half(-2.0) << 16);
  wave.fill(20, nearest_half(3.0));
  check("v_add_f16_sdwa v0, |v10|, -v20 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0",
        nearest_half(-1.0) << 16 | 0xccdd);
  check("v_add_f16_sdwa v0, v10, v20 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0",
        nearest_half(1.0));
  // A comparison, and inactive lanes.
  wave.fill(10, 0x00ff0100);
  wave.fill(20, 1);
  wave.wave().set_pair(sreg::exec, 3);
  wave.run("v_cmp_eq_u32_sdwa s[4:5], v10, v20 src0_sel:BYTE_1 src1_sel:DWORD");
  EXPECT_EQ(wave.wave().pair(4), 3U);
  wave.fill(0, 7);
  wave.run("v_mov_b32_sdwa v0, v10 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:BYTE_2");
  EXPECT_EQ(wave.v(0, 1), 0xffU);
  EXPECT_EQ(wave.v(0, 2), 7U);
}

TEST(ValuModifiers, SourcesOfEveryKind) {
  OneWave wave(Arch::gfx942);
  wave.s(4) = 0x1234;
  wave.wave().set_pair(sreg::vcc, 0x100000002);
  wave.wave().scc = true;
  wave.run(
      "v_mov_b32 v0, s4\nv_mov_b32 v1, vcc_hi\nv_mov_b32 v2, -16\nv_mov_b32 v3, 0.5\nv_mov_b32 v4, 0xdeadbeef\n"
      "v_mov_b32 v5, src_scc\nv_mov_b32 v6, src_execz\nv_mov_b32 v7, src_vccz\nv_mov_b32 v8, 0.15915494\n"
      "v_mov_b32 v9, exec_lo");
  const std::array<std::uint32_t, 10> want{0x1234, 1, 0xfffffff0, 0x3f000000, 0xdeadbeef,
                                           1,      0, 0,          0x3e22f983, 0xffffffff};
  for (unsigned k = 0; k < want.size(); ++k) EXPECT_EQ(wave.v(k, 5), want[k]) << k;
  wave.run("v_add_f16 v0, 1.0, 0\nv_add_f64 v[2:3], 1.0, 0\nv_add_u16 v4, 1.0, 0");
  EXPECT_EQ(wave.v(0), 0x3c00U);
  EXPECT_EQ(as_double(wave.v64(2)), 1.0);
  wave.wave().set_pair(6, bits_of(2.5));
  wave.run("v_add_f64 v[2:3], s[6:7], s[6:7]");
  EXPECT_EQ(as_double(wave.v64(2)), 5.0);
}

}  // namespace
}  // namespace rapt::sim::test
