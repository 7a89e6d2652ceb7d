// Division as compilers write it: scale, approximate, refine, scale back, fix up. The quotient must be correctly
// rounded.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

// Numerator in v10, denominator in v20, quotient in v0.
const std::string divide_f32 =
    "v_div_scale_f32 v1, s[4:5], v20, v20, v10\n"
    "v_div_scale_f32 v2, vcc, v10, v20, v10\n"
    "v_rcp_f32 v3, v1\n"
    "v_fma_f32 v4, -v1, v3, 1.0\n"
    "v_fma_f32 v3, v4, v3, v3\n"
    "v_mul_f32 v4, v2, v3\n"
    "v_fma_f32 v5, -v1, v4, v2\n"
    "v_fma_f32 v4, v5, v3, v4\n"
    "v_fma_f32 v5, -v1, v4, v2\n"
    "v_div_fmas_f32 v4, v5, v3, v4\n"
    "v_div_fixup_f32 v0, v4, v20, v10\n";
const std::string divide_f64 =
    "v_div_scale_f64 v[2:3], s[4:5], v[20:21], v[20:21], v[10:11]\n"
    "v_rcp_f64 v[4:5], v[2:3]\n"
    "v_fma_f64 v[6:7], -v[2:3], v[4:5], 1.0\n"
    "v_fma_f64 v[4:5], v[4:5], v[6:7], v[4:5]\n"
    "v_fma_f64 v[6:7], -v[2:3], v[4:5], 1.0\n"
    "v_fma_f64 v[4:5], v[4:5], v[6:7], v[4:5]\n"
    "v_div_scale_f64 v[6:7], vcc, v[10:11], v[20:21], v[10:11]\n"
    "v_mul_f64 v[8:9], v[6:7], v[4:5]\n"
    "v_fma_f64 v[2:3], -v[2:3], v[8:9], v[6:7]\n"
    "v_div_fmas_f64 v[2:3], v[2:3], v[4:5], v[8:9]\n"
    "v_div_fixup_f64 v[0:1], v[2:3], v[20:21], v[10:11]\n";

// Waves of 32 lanes have masks of one register.
std::string masks(std::string text, OneWave& wave) {
  if (wave.wave().lanes == 64) return text;
  for (const auto& [wide, narrow] : {std::pair<std::string, std::string>{"s[4:5]", "s4"}, {"vcc,", "vcc_lo,"}})
    for (std::size_t at = 0; (at = text.find(wide)) != std::string::npos;) text.replace(at, wide.size(), narrow);
  return text;
}

// Trap: tiny numerators must not leave the quotient off by 2^64.
TEST(ValuDivide, SingleIsCorrectlyRounded) {
  for (const Arch arch : archs_with("v_div_fixup_f32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    auto pairs = tuples(edges_f32(), 2);
    std::uint32_t x = 99;
    for (unsigned k = 0; k < 5000; ++k) {
      const std::uint32_t a = x = x * 1664525 + 1013904223, b = x = x * 1664525 + 1013904223;
      pairs.push_back({a, b});
    }
    const auto results = run_all<std::uint32_t>(wave, masks(divide_f32, wave), pairs);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const std::uint32_t a = pairs[k][0], b = pairs[k][1];
      const float want = as_float(a) / as_float(b);
      ASSERT_EQ(results[k], want != want ? nan_f32({a, b}) : bits_of(want)) << std::hex << a << " / " << b;
    }
  }
}

TEST(ValuDivide, DoubleIsCorrectlyRounded) {
  for (const Arch arch : archs_with("v_div_fixup_f64")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    auto pairs = tuples(edges_f64(), 2);
    std::uint64_t x = 99;
    for (unsigned k = 0; k < 5000; ++k) {
      const std::uint64_t a = x = x * 6364136223846793005 + 1442695040888963407,
                          b = x = x * 6364136223846793005 + 1442695040888963407;
      pairs.push_back({a, b});
    }
    // All ones below a power of two: the last step rounds a sum within 2^-105 of half an ulp.
    for (const double a : {1.0, 2.0, 3.0, 0x1.fffffffffffffp+0, 0x1p-1022, 0x1p+1000})
      for (const double b : {0x1.fffffffffffffp+0, 0x1.ffffffffffffep+0})
        for (int exponent = -1021; exponent <= 1023; exponent += 73)
          pairs.push_back({bits_of(a), bits_of(-std::ldexp(b, exponent))});
    const auto results = run_all<std::uint64_t>(wave, masks(divide_f64, wave), pairs);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const double want = as_double(pairs[k][0]) / as_double(pairs[k][1]);
      ASSERT_EQ(results[k], want != want ? nan_f64(pairs[k]) : bits_of(want))
          << std::hex << pairs[k][0] << " / " << pairs[k][1];
    }
  }
}

TEST(ValuDivide, ScaleAndFlag) {
  for (const Arch arch : archs_with("v_div_scale_f32", rdna)) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    const auto check = [&](float s0, float denominator, float numerator, float value, bool flag) {
      wave.fill(10, bits_of(s0));
      wave.fill(20, bits_of(denominator));
      wave.fill(30, bits_of(numerator));
      wave.run("v_div_scale_f32 v0, vcc_lo, v10, v20, v30");
      EXPECT_EQ(wave.f(0), value) << numerator << " / " << denominator;
      EXPECT_EQ(wave.s(sreg::vcc), flag ? ~0U : 0U) << numerator << " / " << denominator;
    };
    check(1, 4, 1, 1, false);
    check(1, 1, 0x1p127F, 0x1p64F, true);  // a large quotient: the denominator is scaled
    check(0x1p127F, 1, 0x1p127F, 0x1p127F, true);
    check(0x1p-110F, 1, 0x1p-110F, 0x1p-46F, false);  // a tiny numerator: both are
    check(1, 1, 0x1p-110F, 0x1p64F, false);
    check(0x1p-126F, 1, 0x1p-126F, 0x1p-62F, true);  // a denormal quotient: the numerator is
    check(1, 1, 0x1p-126F, 1, true);
    check(0x1p127F, 0x1p127F, 0x1p10F, 0x1p63F, false);  // a denormal reciprocal: both, down
  }
}

TEST(ValuDivide, FmasScalesBothWays) {
  for (const Arch arch : archs_with("v_div_fmas_f32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    wave.wave().set_pair(sreg::vcc, 0x5);
    wave.fill(10, bits_of(1.0F));
    for (const auto& [third, factor] : {std::pair{2.0F, 0x1p64F}, {1.0F, 0x1p-64F}}) {
      wave.fill(20, bits_of(third));
      wave.run("v_div_fmas_f32 v0, v10, v10, v20");
      EXPECT_EQ(wave.f(0, 0), (1 + third) * factor);
      EXPECT_EQ(wave.f(0, 1), 1 + third);
      EXPECT_EQ(wave.f(0, 2), (1 + third) * factor);
    }
  }
}

TEST(ValuDivide, HalfFixup) {
  for (const Arch arch : archs_with("v_div_fixup_f16")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    for (const auto& pair : tuples(edges_f16(), 2)) {
      const double a = half_value(pair[0]), b = half_value(pair[1]), quotient = a / b;
      wave.fill(10, std::isnan(quotient) ? 0x1234 : nearest_half(quotient));
      wave.fill(20, pair[1]);
      wave.fill(30, pair[0]);
      wave.run("v_div_fixup_f16 v0, v10, v20, v30");
      EXPECT_EQ(wave.v(0) & 0xffff, std::isnan(quotient) ? nan_f16({pair[0], pair[1]}) : nearest_half(quotient))
          << a << " / " << b;
    }
  }
}

// Segments of 2 / pi add up to it.
TEST(ValuDivide, TwoOverPi) {
  for (const Arch arch : archs_with("v_trig_preop_f64")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    wave.set_v64(10, 0, bits_of(1.0));
    wave.run(
        "v_trig_preop_f64 v[0:1], v[10:11], 0\nv_trig_preop_f64 v[2:3], v[10:11], 1\nv_trig_preop_f64 v[4:5], "
        "v[10:11], "
        "2");
    const long double sum =
        static_cast<long double>(as_double(wave.v64(0))) + as_double(wave.v64(2)) + as_double(wave.v64(4));
    EXPECT_EQ(sum, 2 / std::acos(-1.0L));
    EXPECT_EQ(wave.v64(0), 0x3fe45f306dc9c882U);
    // 2^100: 100 - 54 = 46 or more digits are whole turns of the product and are left out.
    wave.set_v64(10, 0, bits_of(0x1p100));
    wave.run("v_trig_preop_f64 v[6:7], v[10:11], 0");
    const double skipped = as_double(wave.v64(6));
    EXPECT_LT(skipped, 0x1p-46);
    EXPECT_EQ(std::fmod(std::ldexp(as_double(wave.v64(0)) + as_double(wave.v64(2)), 46), 1.0) > 0, skipped > 0);
  }
}

}  // namespace
}  // namespace rapt::sim::test
