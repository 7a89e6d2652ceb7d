// Dot products: edge values of integers, signs, saturation, denormals and orders of the floating-point ones.
#include "sim/tests/support/float_bits.hpp"
#include "sim/tests/support/one_wave.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace rapt::sim::test {
namespace {

struct Dot {
  const char* name;
  unsigned size;
  bool is_signed;
  bool by_neg = false;
  bool accumulates = false;  // VOP2: the destination is the third source
};
constexpr Dot cdna_dots[] = {{"v_dot2_i32_i16", 16, true},
                             {"v_dot2_u32_u16", 16, false},
                             {"v_dot4_i32_i8", 8, true},
                             {"v_dot4_u32_u8", 8, false},
                             {"v_dot8_i32_i4", 4, true},
                             {"v_dot8_u32_u4", 4, false},
                             {"v_dot2c_i32_i16", 16, true, false, true},
                             {"v_dot4c_i32_i8", 8, true, false, true},
                             {"v_dot8c_i32_i4", 4, true, false, true}};
constexpr Dot rdna_dots[] = {{"v_dot4_i32_iu8", 8, true, true},
                             {"v_dot8_i32_iu4", 4, true, true},
                             {"v_dot4_u32_u8", 8, false},
                             {"v_dot8_u32_u4", 4, false}};

std::int64_t element(std::uint32_t v, unsigned size, unsigned n, bool is_signed) {
  const std::int64_t bits = v >> n * size & ((1U << size) - 1);
  return is_signed && bits >> (size - 1) != 0 ? bits - (std::int64_t{1} << size) : bits;
}

void check(Arch arch, const Dot& dot, unsigned neg, bool clamp) {
  OneWave w(arch);
  std::mt19937 random(3);
  const std::uint32_t edges[] = {0, 0x80808080, 0x7f7f7f7f, 0xffffffff, 0x80008000, 0x7fff7fff};
  const std::uint32_t sums[] = {0, 0x7fffffff, 0x80000000, 0xffffffff};
  const unsigned lanes = w.wave().lanes;
  std::vector<std::uint32_t> sum(lanes);
  for (unsigned l = 0; l < lanes; ++l) {
    w.v(1, l) = l < 24 ? edges[l % 6] : random();
    w.v(2, l) = l < 24 ? edges[l / 4] : random();
    sum[l] = l < 24 ? sums[l % 4] : random();
    w.v(3, l) = w.v(0, l) = sum[l];
  }
  std::string text = std::string(dot.name) + " v0, v1, v2" + (dot.accumulates ? "" : ", v3");
  if (neg != 0) text += " neg_lo:[" + std::to_string(neg & 1) + "," + std::to_string(neg >> 1) + ",0]";
  w.run(text + (clamp ? " clamp" : ""));
  const bool first = dot.by_neg ? (neg & 1) != 0 : dot.is_signed, second = dot.by_neg ? (neg & 2) != 0 : dot.is_signed;
  for (unsigned l = 0; l < lanes; ++l) {
    std::int64_t expected = dot.is_signed ? std::int64_t{static_cast<std::int32_t>(sum[l])} : std::int64_t{sum[l]};
    for (unsigned n = 0; n < 32 / dot.size; ++n)
      expected += element(w.v(1, l), dot.size, n, first) * element(w.v(2, l), dot.size, n, second);
    if (clamp)
      expected = dot.is_signed ? std::clamp<std::int64_t>(expected, INT32_MIN, INT32_MAX)
                               : std::min<std::int64_t>(expected, UINT32_MAX);
    ASSERT_EQ(w.v(0, l), static_cast<std::uint32_t>(expected)) << text << " lane " << l;
  }
}

TEST(Dot, integers) {
  for (const Arch arch : {Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950})
    for (const Dot& dot : cdna_dots)
      for (const bool clamp : {false, true})
        if (!dot.accumulates || (!clamp && arch != Arch::gfx906)) check(arch, dot, 0, clamp);
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1151, Arch::gfx1201})
    for (const Dot& dot : rdna_dots)
      for (unsigned neg = 0; neg < (dot.by_neg ? 4U : 1U); ++neg)
        for (const bool clamp : {false, true}) check(arch, dot, neg, clamp);
}

std::uint32_t half(double v) { return nearest_bits(format_model("f16", Arch::gfx942), v); }
std::uint32_t bf16(float v) { return std::bit_cast<std::uint32_t>(v) >> 16; }

TEST(Dot, halves_into_f32) {
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    OneWave w(static_cast<Arch>(n));
    w.fill(1, half(3) | half(0.5) << 16);
    w.fill(2, half(-7) | half(4) << 16);
    w.set_f(3, 0, 0x1p-20F);
    w.run("v_dot2_f32_f16 v0, v1, v2, v3");
    EXPECT_EQ(w.f(0), -19.0F + 0x1p-20F);
    w.run("v_dot2_f32_f16 v0, v1, v2, 1.0 neg_lo:[1,0,0] neg_hi:[0,1,0]");  // a constant third source is an f32
    EXPECT_EQ(w.f(0), 21.0F - 2.0F + 1.0F);
  }
}

// On RDNA a constant is in both halves, except for sums in f32 of f16.
TEST(Dot, constants) {
  for (const Arch arch : {Arch::gfx908, Arch::gfx942, Arch::gfx1100, Arch::gfx1151, Arch::gfx1201}) {
    OneWave w(arch);
    w.fill(1, half(3) | half(5) << 16);
    w.fill(3, 0);
    w.run("v_dot2_f32_f16 v0, v1, 2.0, v3");
    EXPECT_EQ(w.f(0), 6) << name(arch);
    if (is_cdna(arch)) continue;
    w.run("v_dot2_f16_f16 v0.l, v1, 2.0, v3.l");
    EXPECT_EQ(w.v(0) & 0xffff, half(16)) << name(arch);
    if (contains(gfx12, arch)) continue;
    w.fill(0, 0);
    w.run("v_dot2acc_f32_f16 v0, 2.0, v1");
    EXPECT_EQ(w.f(0), 6) << name(arch);
  }
}

// The sum so far is so large that single products are lost in it, but not their sum.
TEST(Dot, order_of_the_additions) {
  const auto run = [](Arch arch, const char* text) {
    OneWave w(arch);
    w.fill(1, half(1) | half(1) << 16);
    w.fill(2, half(1) | half(1) << 16);
    w.set_f(3, 0, 0x1p24F);
    w.set_f(0, 0, 0x1p24F);
    w.run(text);
    return w.f(0);
  };
  EXPECT_EQ(run(Arch::gfx942, "v_dot2_f32_f16 v0, v1, v2, v3"), 0x1p24F);
  EXPECT_EQ(run(Arch::gfx1100, "v_dot2_f32_f16 v0, v1, v2, v3"), 0x1p24F + 2);
  EXPECT_EQ(run(Arch::gfx1201, "v_dot2_f32_f16 v0, v1, v2, v3"), 0x1p24F);
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1151}) EXPECT_EQ(run(arch, "v_dot2acc_f32_f16 v0, v1, v2"), 0x1p24F);
  for (const Arch arch : {Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950})
    EXPECT_EQ(run(arch, "v_dot2c_f32_f16 v0, v1, v2"), 0x1p24F);
}

TEST(Dot, cdna_flushes_denormals) {
  OneWave cdna(Arch::gfx942), rdna(Arch::gfx1100);
  for (OneWave* w : {&cdna, &rdna}) {
    w->fill(1, 1);
    w->fill(2, half(1));
    w->fill(3, 5);
    w->run("v_dot2_f32_f16 v0, v1, v2, v3");
  }
  EXPECT_EQ(cdna.v(0), 0U);
  EXPECT_EQ(rdna.f(0), 0x1p-24F);
}

TEST(Dot, bf16) {
  for (const Arch arch : {Arch::gfx950, Arch::gfx1100, Arch::gfx1151, Arch::gfx1201}) {
    OneWave w(arch);
    w.fill(1, bf16(3) | bf16(0.5F) << 16);
    w.fill(2, bf16(-7) | bf16(4) << 16);
    w.set_f(3, 0, 0.125F);
    w.run("v_dot2_f32_bf16 v0, v1, v2, v3");
    EXPECT_EQ(w.f(0), -18.875F);
  }
  OneWave w(Arch::gfx950);
  w.fill(1, bf16(3) | bf16(0.5F) << 16);
  w.fill(2, bf16(-7) | bf16(4) << 16);
  w.set_f(0, 0, 0.125F);
  w.run("v_dot2c_f32_bf16 v0, v1, v2");
  EXPECT_EQ(w.f(0), -18.875F);
}

TEST(Dot, narrow_results) {
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1151, Arch::gfx1201}) {
    SCOPED_TRACE(rapt::sim::name(arch));
    OneWave w(arch);
    w.fill(1, half(3) | half(0.5) << 16);
    w.fill(2, half(-7) | half(4) << 16);
    w.fill(3, half(0.25) | half(100) << 16);
    w.fill(0, 0xabcdabcd);
    w.run("v_dot2_f16_f16 v0.l, v1, v2, v3.l");
    EXPECT_EQ(w.v(0), 0xabcd0000 | half(-18.75));
    w.run("v_dot2_f16_f16 v0.h, v1, v2, v3.h");
    EXPECT_EQ(w.v(0) >> 16, half(81));
    w.fill(1, bf16(3) | bf16(0.5F) << 16);
    w.fill(2, bf16(-7) | bf16(4) << 16);
    w.fill(3, bf16(0.25F));
    w.run("v_dot2_bf16_bf16 v0.l, v1, v2, v3.l");
    EXPECT_EQ(w.v(0) & 0xffff, bf16(-18.75F));
  }
}

TEST(Dot, fp8_of_gfx12) {
  std::mt19937 random(5);
  for (const char* types : {"fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"}) {
    OneWave w(Arch::gfx1201);
    const std::string first(types, 3), second(types + 4, 3);
    for (unsigned l = 0; l < 32; ++l) {
      w.v(1, l) = random() & 0x77777777;
      w.v(2, l) = random() & 0xb7b7b7b7;
      w.set_f(3, l, -1.5F);
    }
    w.run(std::string("v_dot4_f32_") + types + " v0, v1, v2, v3");
    for (unsigned l = 0; l < 32; ++l) {
      float sum = -1.5F;
      for (unsigned n = 0; n < 32; n += 8)
        sum += static_cast<float>(value_of(first, Arch::gfx1201, w.v(1, l) >> n & 0xff) *
                                  value_of(second, Arch::gfx1201, w.v(2, l) >> n & 0xff));
      EXPECT_EQ(w.f(0, l), sum) << types;
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
