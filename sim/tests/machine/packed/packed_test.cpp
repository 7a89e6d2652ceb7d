// v_pk_* and v_fma_mix*: edge values in both halves, modifiers, constants, EXEC.
#include "sim/tests/support/float_bits.hpp"
#include "sim/tests/support/one_wave.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace rapt::sim::test {
namespace {

constexpr std::uint32_t edges[] = {0, 1, 2, 0x7fff, 0x8000, 0xffff, 0x1234, 0xfff0};
constexpr std::uint32_t halves[] = {0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0xc000, 0x7bff,
                                    0x3555, 0xfbff, 0x1400, 0x6400, 0x3c01, 0xb800, 0x83ff, 0x0401};

// The pairs that lane l has in the low and the high half.
template <std::size_t n>
std::uint32_t first(const std::uint32_t (&values)[n], unsigned l) {
  return values[l % n] | values[(l / n + 3) % n] << 16;
}
template <std::size_t n>
std::uint32_t second(const std::uint32_t (&values)[n], unsigned l) {
  return values[l / n % n] | values[(l + 5) % n] << 16;
}

struct IntegerOperation {
  const char* name;
  bool is_signed;
  std::function<std::int64_t(std::int64_t, std::int64_t, std::int64_t)> value;
  bool three = false, clamps = true;
};

std::int64_t as_integer(std::uint32_t half, bool is_signed) {
  return is_signed ? std::int64_t{static_cast<std::int16_t>(half)} : std::int64_t{half};
}

const IntegerOperation integer_operations[] = {
    {"v_pk_add_i16", true, [](auto a, auto b, auto) { return a + b; }},
    {"v_pk_sub_i16", true, [](auto a, auto b, auto) { return a - b; }},
    {"v_pk_add_u16", false, [](auto a, auto b, auto) { return a + b; }},
    {"v_pk_sub_u16", false, [](auto a, auto b, auto) { return a - b; }},
    {"v_pk_mad_i16", true, [](auto a, auto b, auto c) { return a * b + c; }, true},
    {"v_pk_mad_u16", false, [](auto a, auto b, auto c) { return a * b + c; }, true},
    {"v_pk_mul_lo_u16", false, [](auto a, auto b, auto) { return a * b; }, false, false},
    {"v_pk_min_i16", true, [](auto a, auto b, auto) { return std::min(a, b); }, false, false},
    {"v_pk_max_i16", true, [](auto a, auto b, auto) { return std::max(a, b); }, false, false},
    {"v_pk_min_u16", false, [](auto a, auto b, auto) { return std::min(a, b); }, false, false},
    {"v_pk_max_u16", false, [](auto a, auto b, auto) { return std::max(a, b); }, false, false},
    {"v_pk_lshlrev_b16", false, [](auto a, auto b, auto) { return b << (a & 15); }, false, false},
    {"v_pk_lshrrev_b16", false, [](auto a, auto b, auto) { return b >> (a & 15); }, false, false},
    {"v_pk_ashrrev_i16", true, [](auto a, auto b, auto) { return b >> (a & 15); }, false, false},
};

TEST(Packed, integers) {
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n)
    for (const IntegerOperation& op : integer_operations)
      for (const bool clamp : {false, true}) {
        if (clamp && !op.clamps) continue;
        OneWave w(static_cast<Arch>(n));
        for (unsigned l = 0; l < w.wave().lanes; ++l) {
          w.v(1, l) = first(edges, l);
          w.v(2, l) = second(edges, l);
          w.v(3, l) = 0x80007fff;
        }
        w.run(std::string(op.name) + " v0, v1, v2" + (op.three ? ", v3" : "") + (clamp ? " clamp" : ""));
        for (unsigned l = 0; l < w.wave().lanes; ++l)
          for (unsigned shift = 0; shift < 32; shift += 16) {
            const auto part = [&](unsigned reg) { return as_integer(w.v(reg, l) >> shift & 0xffff, op.is_signed); };
            std::int64_t v = op.value(part(1), part(2), part(3));
            if (clamp)
              v = op.is_signed ? std::clamp<std::int64_t>(v, -32768, 32767) : std::clamp<std::int64_t>(v, 0, 65535);
            ASSERT_EQ(w.v(0, l) >> shift & 0xffff, static_cast<std::uint32_t>(v) & 0xffff)
                << op.name << (clamp ? " clamp " : " ") << std::hex << w.v(1, l) << " " << w.v(2, l);
          }
      }
}

double half(std::uint32_t bits) { return value_of("f16", Arch::gfx942, bits & 0xffff); }
std::uint32_t as_half(double v) { return nearest_bits(format_model("f16", Arch::gfx942), v); }

TEST(Packed, halves_of_every_kind) {
  struct Operation {
    const char* name;
    std::function<double(double, double, double)> value;
    bool three = false, accumulates = false;
  };
  const Operation operations[] = {
      {"v_pk_add_f16", [](double a, double b, double) { return a + b; }},
      {"v_pk_mul_f16", [](double a, double b, double) { return a * b; }},
      {"v_pk_fma_f16", [](double a, double b, double c) { return a * b + c; }, true},
      {"v_pk_fmac_f16", [](double a, double b, double c) { return a * b + c; }, false, true}};
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n)
    for (const Operation& op : operations) {
      const auto arch = static_cast<Arch>(n);
      if (op.accumulates && arch == Arch::gfx906) continue;  // it has none
      OneWave w(arch);
      for (unsigned start = 0; start < 256; start += 32) {
        const unsigned lanes = w.wave().lanes;
        for (unsigned l = 0; l < lanes; ++l) {
          w.v(1, l) = first(halves, start + l);
          w.v(2, l) = second(halves, start + l);
          w.v(3, l) = 0x0001bc00;
          if (op.accumulates) w.v(0, l) = w.v(3, l);
        }
        w.run(std::string(op.name) + " v0, v1, v2" + (op.three ? ", v3" : ""));
        for (unsigned l = 0; l < lanes; ++l)
          for (unsigned shift = 0; shift < 32; shift += 16) {
            const double v = op.value(half(w.v(1, l) >> shift), half(w.v(2, l) >> shift), half(w.v(3, l) >> shift));
            ASSERT_EQ(w.v(0, l) >> shift & 0xffff, as_half(v))
                << op.name << std::hex << " " << w.v(1, l) << " " << w.v(2, l) << " half " << shift / 16;
          }
      }
    }
}

TEST(Packed, halves_chosen_and_negated) {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx1201})
    for (unsigned bits = 0; bits < 16; ++bits) {
      OneWave w(arch);
      w.fill(1, as_half(3) | as_half(5) << 16);
      w.fill(2, as_half(7) | as_half(11) << 16);
      const auto list = [](unsigned a, unsigned b) { return "[" + std::to_string(a) + "," + std::to_string(b) + "]"; };
      const unsigned s0 = bits & 1, s1 = bits >> 1 & 1, h0 = bits >> 2 & 1, h1 = bits >> 3 & 1;
      w.run("v_pk_mul_f16 v0, v1, v2 op_sel:" + list(s0, s1) + " op_sel_hi:" + list(h0, h1) +
            " neg_lo:" + list(h1, s0) + " neg_hi:" + list(s1, 1));
      const double first[] = {3, 5}, second[] = {7, 11};
      const double low = first[s0] * second[s1] * (h1 != s0 ? -1 : 1),
                   high = first[h0] * second[h1] * (s1 != 1 ? -1 : 1);
      EXPECT_EQ(half(w.v(0)), low) << bits;
      EXPECT_EQ(half(w.v(0) >> 16), high) << bits;
    }
}

TEST(Packed, clamp_and_denormal_mode_of_halves) {
  OneWave w(Arch::gfx942);
  w.fill(1, as_half(3) | as_half(-2) << 16);
  w.fill(2, as_half(0.25) | as_half(0.25) << 16);
  w.run("v_pk_add_f16 v0, v1, v2 clamp");
  EXPECT_EQ(w.v(0), as_half(1));
  w.fill(1, 0x00010001);
  w.fill(2, 0x3c003c00);
  w.run("v_pk_mul_f16 v0, v1, v2");
  EXPECT_EQ(w.v(0), 0x00010001U);
  w.wave().mode &= ~mode::denorm_f16_f64;
  w.run("v_pk_mul_f16 v0, v1, v2");
  EXPECT_EQ(w.v(0), 0U);
}

TEST(Packed, minimum_and_maximum_of_halves) {
  constexpr std::uint32_t nan = 0x7e01, one = 0x3c00, two = 0x4000, minus_zero = 0x8000;
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    const auto arch = static_cast<Arch>(n);
    OneWave w(arch);
    const std::string suffix = arch == Arch::gfx1201 ? "num_f16" : "f16";
    w.fill(1, nan | one << 16);
    w.fill(2, two | two << 16);
    w.run("v_pk_min_" + suffix + " v0, v1, v2\nv_pk_max_" + suffix + " v3, v1, v2");
    EXPECT_EQ(w.v(0), two | one << 16);
    EXPECT_EQ(w.v(3), two | two << 16);
    w.fill(1, minus_zero);
    w.fill(2, minus_zero << 16);
    w.run("v_pk_min_" + suffix + " v0, v1, v2\nv_pk_max_" + suffix + " v3, v1, v2");
    EXPECT_EQ(w.v(0), minus_zero | minus_zero << 16);
    EXPECT_EQ(w.v(3), 0U);
  }
  for (const char* name : {"v_pk_minimum_f16", "v_pk_maximum_f16"}) {
    OneWave w(Arch::gfx1201);
    w.fill(1, nan | one << 16);
    w.fill(2, two | nan << 16);
    w.run(std::string(name) + " v0, v1, v2");
    EXPECT_EQ(w.v(0), nan | nan << 16);
  }
  OneWave w(Arch::gfx950);
  w.fill(1, one | one << 16);
  w.fill(2, two | two << 16);
  w.fill(3, minus_zero | nan << 16);
  w.run("v_pk_minimum3_f16 v0, v1, v2, v3\nv_pk_maximum3_f16 v4, v1, v2, v3");
  EXPECT_EQ(w.v(0), minus_zero | nan << 16);
  EXPECT_EQ(w.v(4), two | nan << 16);
}

TEST(Packed, constants) {
  OneWave w(Arch::gfx942);
  w.fill(1, as_half(3) | as_half(5) << 16);
  w.run("v_pk_mul_f16 v0, v1, 2.0 op_sel_hi:[1,0]");
  EXPECT_EQ(w.v(0), as_half(6) | as_half(10) << 16);
  w.fill(1, 0x00030005);
  w.run("v_pk_add_u16 v0, v1, 7 op_sel_hi:[1,0]");
  EXPECT_EQ(w.v(0), 0x000a000cU);
  w.run("v_pk_add_u16 v0, v1, -1");  // sign-extended to 32 bits
  EXPECT_EQ(w.v(0), 0x00020004U);
  w.s(4) = 0x00010002;
  w.run("v_pk_add_u16 v0, v1, s4");
  EXPECT_EQ(w.v(0), 0x00040007U);
}

// v_pk_fmac_f16 has no modifiers. gfx11 and gfx12 take an inline constant for both halves, gfx9 for the low one; a
// literal is both halves unchanged.
TEST(Packed, constants_of_fmac) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx1100, Arch::gfx1201}) {
    OneWave w(arch);
    w.fill(0, as_half(1) | as_half(2) << 16);
    w.fill(1, as_half(3) | as_half(5) << 16);
    w.run(is_cdna(arch) ? "v_pk_fmac_f16 v0, 2.0, v1" : "v_pk_fmac_f16 v0, 0x40004000, v1");  // encoded alike
    EXPECT_EQ(w.v(0), as_half(7) | as_half(is_cdna(arch) ? 2 : 12) << 16) << name(arch);
    w.s(4) = as_half(3) | as_half(4) << 16;
    w.run("v_pk_fmac_f16 v0, s4, v1");
    EXPECT_EQ(w.v(0), as_half(16) | as_half(is_cdna(arch) ? 22 : 32) << 16) << name(arch);
    if (is_cdna(arch)) continue;
    w.run("v_pk_fmac_f16 v0, 0x4000, v1");
    EXPECT_EQ(w.v(0), as_half(22) | as_half(32) << 16) << name(arch);
  }
}

TEST(Packed, a_destination_may_be_a_source_and_exec_counts) {
  OneWave w(Arch::gfx90a);
  w.fill(1, 0x00010002);
  w.wave().set_pair(sreg::exec, 0x5);
  w.run("v_pk_add_u16 v1, v1, v1 op_sel:[1,1] op_sel_hi:[0,0]");
  EXPECT_EQ(w.v(1, 0), 0x00040002U);
  EXPECT_EQ(w.v(1, 1), 0x00010002U);
  EXPECT_EQ(w.v(1, 2), 0x00040002U);
}

TEST(Packed, pairs_of_f32) {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    OneWave w(arch);
    const float values[] = {1.5F, -2.25F, 3.0F, 0.125F, 1e-3F, 7.0F};
    for (unsigned r = 0; r < 6; ++r) w.fill(2 + r, std::bit_cast<std::uint32_t>(values[r]));
    w.run("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]");
    EXPECT_EQ(w.f(0), std::fma(1.5F, 3.0F, 1e-3F));
    EXPECT_EQ(w.f(1), std::fma(-2.25F, 0.125F, 7.0F));
    w.run("v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1] neg_hi:[1,0]");
    EXPECT_EQ(w.f(0), -2.25F * -3.0F);
    EXPECT_EQ(w.f(1), -1.5F * 0.125F);
    w.run("v_pk_add_f32 v[2:3], v[2:3], v[2:3] op_sel:[1,1] op_sel_hi:[0,0]");
    EXPECT_EQ(w.f(2), -4.5F);
    EXPECT_EQ(w.f(3), 3.0F);
    w.s(6) = std::bit_cast<std::uint32_t>(10.0F);
    w.s(7) = std::bit_cast<std::uint32_t>(20.0F);
    w.run("v_pk_mul_f32 v[0:1], v[4:5], s[6:7]");
    EXPECT_EQ(w.f(0), 30.0F);
    EXPECT_EQ(w.f(1), 2.5F);
    w.run("v_pk_mul_f32 v[0:1], v[4:5], 4.0 op_sel_hi:[1,0]");
    EXPECT_EQ(w.f(0), 12.0F);
    EXPECT_EQ(w.f(1), 0.5F);
    w.fill(8, 0x11);
    w.fill(9, 0x22);
    w.fill(10, 0x33);
    w.fill(11, 0x44);
    w.run("v_pk_mov_b32 v[0:1], v[8:9], v[10:11] op_sel:[1,0]");
    EXPECT_EQ(w.v(0), 0x22U);
    EXPECT_EQ(w.v(1), 0x33U);
    w.run("v_pk_mov_b32 v[0:1], v[8:9], v[10:11] op_sel:[0,1]");
    EXPECT_EQ(w.v(0), 0x11U);
    EXPECT_EQ(w.v(1), 0x44U);
  }
}

TEST(Packed, mixed_multiply_add) {
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    OneWave w(static_cast<Arch>(n));
    const std::uint32_t pair = as_half(3) | as_half(-5) << 16;
    w.fill(1, pair);
    w.fill(2, std::bit_cast<std::uint32_t>(1.0F / 3));
    w.fill(3, pair);
    w.run("v_fma_mix_f32 v0, v1, v2, v3 op_sel:[0,0,1] op_sel_hi:[1,0,1]");
    EXPECT_EQ(w.f(0), std::fma(3.0F, 1.0F / 3, -5.0F));
    w.run("v_fma_mix_f32 v0, -v1, |v2|, -|v3| op_sel:[1,0,1] op_sel_hi:[1,0,1]");
    EXPECT_EQ(w.f(0), std::fma(5.0F, 1.0F / 3, -5.0F));
    w.fill(0, 0xabcdabcd);
    w.run("v_fma_mixlo_f16 v0, v1, v2, v3 op_sel_hi:[1,0,1]");
    EXPECT_EQ(w.v(0), 0xabcd0000 | as_half(static_cast<double>(std::fma(3.0F, 1.0F / 3, 3.0F))));
    w.run("v_fma_mixhi_f16 v0, v1, v2, v3 op_sel_hi:[1,0,1] clamp");
    EXPECT_EQ(w.v(0) >> 16, as_half(1));
    w.run("v_fma_mix_f32 v0, v2, v2, 1.0");
    EXPECT_EQ(w.f(0), std::fma(1.0F / 3, 1.0F / 3, 1.0F));
  }
}

}  // namespace
}  // namespace rapt::sim::test
