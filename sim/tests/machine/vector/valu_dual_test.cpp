// VOPD: every operation in each half that has it, and the order of reads and writes (RDNA3 ISA 7.6, RDNA4 ISA 7.6).
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;

struct Operation {
  ArchSet archs;
  const char *name, *operands;  // of v10, v20 and what v0 was
  bool floats, first_half;
  u32 (*result)(u32 a, u32 b, u32 before);
};

float f(u32 x) { return as_float(x); }
float bf16(u32 x) { return as_float(x << 16); }
u32 number(double x) { return bits_of(static_cast<float>(x)); }
const char* const two_sources = " v0, v10, v20";

const Operation operations[] = {
    {rdna, "fmac_f32", two_sources, true, true,
     [](u32 a, u32 b, u32 c) { return bits_of(std::fma(f(a), f(b), f(c))); }},
    {rdna, "fmaak_f32", " v0, v10, v20, 0x40a00000", true, true,
     [](u32 a, u32 b, u32) { return bits_of(std::fma(f(a), f(b), 5.0F)); }},
    {rdna, "fmamk_f32", " v0, v10, 0x40a00000, v20", true, true,
     [](u32 a, u32 b, u32) { return bits_of(std::fma(f(a), 5.0F, f(b))); }},
    {rdna, "mul_f32", two_sources, true, true, [](u32 a, u32 b, u32) { return bits_of(f(a) * f(b)); }},
    {rdna, "add_f32", two_sources, true, true, [](u32 a, u32 b, u32) { return bits_of(f(a) + f(b)); }},
    {rdna, "sub_f32", two_sources, true, true, [](u32 a, u32 b, u32) { return bits_of(f(a) - f(b)); }},
    {rdna, "subrev_f32", two_sources, true, true, [](u32 a, u32 b, u32) { return bits_of(f(b) - f(a)); }},
    {rdna, "mul_dx9_zero_f32", two_sources, true, true,
     [](u32 a, u32 b, u32) { return f(a) == 0 || f(b) == 0 ? 0 : bits_of(f(a) * f(b)); }},
    {rdna, "mov_b32", " v0, v10", false, true, [](u32 a, u32, u32) { return a; }},
    {rdna, "cndmask_b32", two_sources, false, true, [](u32 a, u32, u32) { return a; }},  // VCC is 0 here
    {gfx11, "max_f32", two_sources, true, true, [](u32 a, u32 b, u32) { return f(a) > f(b) ? a : b; }},
    {gfx11, "min_f32", two_sources, true, true, [](u32 a, u32 b, u32) { return f(a) < f(b) ? a : b; }},
    {gfx12, "max_num_f32", two_sources, true, true, [](u32 a, u32 b, u32) { return f(a) > f(b) ? a : b; }},
    {gfx12, "min_num_f32", two_sources, true, true, [](u32 a, u32 b, u32) { return f(a) < f(b) ? a : b; }},
    {rdna, "add_nc_u32", two_sources, false, false, [](u32 a, u32 b, u32) { return a + b; }},
    {rdna, "lshlrev_b32", two_sources, false, false, [](u32 a, u32 b, u32) { return b << (a & 31); }},
    {rdna, "and_b32", two_sources, false, false, [](u32 a, u32 b, u32) { return a & b; }},
};
// Sums of two products of halves, exact here.
const Operation products[] = {
    {rdna, "dot2acc_f32_f16", two_sources, true, true,
     [](u32 a, u32 b, u32 c) {
       return number(half_value(a & 0xffff) * half_value(b & 0xffff) + half_value(a >> 16) * half_value(b >> 16) +
                     double{f(c)});
     }},
    {rdna, "dot2acc_f32_bf16", two_sources, true, true,
     [](u32 a, u32 b, u32 c) {
       return number(double{bf16(a)} * bf16(b) + double{bf16(a >> 16)} * bf16(b >> 16) + double{f(c)});
     }},
};

const u32 floats[] = {0x00000000, 0x3f800000, 0xbf800000, 0x3f800001, 0xc0490fdb,
                      0x4b7fffff, 0x7f7fffff, 0xff7fffff, 0x33800000, 0x42c80000};
const u32 integers[] = {0, 1, 5, 31, 32, 0x7fffffff, 0x80000000, 0xdeadbeef, 0xffffffff};
// Small numbers with few digits, both as halves and as bfloat16s.
const u32 pairs[] = {0x40003c00, 0x3f80c040, 0xbf803f80, 0x40404000, 0x3e004080};

template <std::size_t n>
void check(Arch arch, const Operation& op, const u32 (&values)[n]) {
  for (const bool second : {false, true}) {
    if (!second && !op.first_half) continue;
    const std::string half = std::string("v_dual_") + op.name + op.operands, other = "v_dual_mov_b32 v1, v11";
    const std::string line = second ? other + " :: " + half : half + " :: " + other;
    SCOPED_TRACE(std::string(name(arch)) + " " + line);
    OneWave wave(arch, 32);
    wave.s(sreg::vcc) = 0;
    for (const u32 a : values)
      for (std::size_t at = 0; at < n; at += 1) {
        const u32 before = bits_of(1.5F);
        wave.fill(0, before), wave.fill(1, 7), wave.fill(10, a), wave.fill(20, values[at]), wave.fill(11, 0x1234);
        wave.wave().set_pair(sreg::exec, 0xfffffffb);
        wave.run(line);
        ASSERT_EQ(wave.v(0, 1), op.result(a, values[at], before)) << std::hex << a << " " << values[at];
        ASSERT_EQ(wave.v(0, 2), before);
        ASSERT_EQ(wave.v(1, 1), 0x1234U);
        ASSERT_EQ(wave.v(1, 2), 7U);
      }
  }
}

TEST(ValuDual, EveryOperation) {
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1151, Arch::gfx1201}) {
    for (const Operation& op : operations)
      if (!contains(op.archs, arch)) continue;
      else if (op.floats) check(arch, op, floats);
      else check(arch, op, integers);
    for (const Operation& op : products) check(arch, op, pairs);
  }
}

// Both halves of VOPD read before either writes.
TEST(ValuDual, ReadsBeforeWriting) {
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1201}) {
    OneWave wave(arch);
    wave.fill(0, 100);
    wave.fill(1, 200);
    wave.run("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0");
    EXPECT_EQ(wave.v(0), 200U);
    EXPECT_EQ(wave.v(1), 100U);
    wave.set_f(0, 0, 2.0F);
    wave.set_f(1, 0, 3.0F);
    wave.set_f(2, 0, 5.0F);
    wave.set_f(3, 0, 7.0F);
    wave.run("v_dual_mul_f32 v0, v0, v1 :: v_dual_add_f32 v3, v2, v0");  // Y reads what X writes
    EXPECT_EQ(wave.f(0), 6.0F);
    EXPECT_EQ(wave.f(3), 7.0F);
    wave.run("v_dual_add_f32 v2, v3, v0 :: v_dual_sub_f32 v3, v1, v2");
    EXPECT_EQ(wave.f(2), 13.0F);
    EXPECT_EQ(wave.f(3), -2.0F);
    wave.run("v_dual_fmac_f32 v2, v0, v1 :: v_dual_fmaak_f32 v1, v1, v0, 0x3f800000");
    EXPECT_EQ(wave.f(2), 31.0F);
    EXPECT_EQ(wave.f(1), 19.0F);
    wave.s(sreg::vcc) = 1;
    wave.fill(4, 1);
    wave.fill(5, 2);
    wave.run("v_dual_cndmask_b32 v6, v4, v5 :: v_dual_lshlrev_b32 v7, 4, v4");
    EXPECT_EQ(wave.v(6, 0), 2U);
    EXPECT_EQ(wave.v(6, 1), 1U);
    EXPECT_EQ(wave.v(7), 16U);
  }
}

}  // namespace
}  // namespace rapt::sim::test
