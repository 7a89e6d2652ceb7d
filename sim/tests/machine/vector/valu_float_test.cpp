// Sums and products of floating-point values, compared with exact arithmetic rounded once.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

__extension__ using Wide = __float128;

std::uint32_t single(Wide exact, const std::vector<std::uint32_t>& s) {
  const float f = static_cast<float>(exact);
  return f != f ? nan_f32(s) : bits_of(f);
}

void check_f32(Arch arch, const std::string& text, unsigned sources,
               const std::function<std::uint32_t(const std::vector<std::uint32_t>&)>& expected) {
  OneWave wave(arch);
  const auto inputs = tuples(edges_f32(), sources);
  const auto results = run_all<std::uint32_t>(wave, text, inputs);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    ASSERT_EQ(results[k], expected(inputs[k])) << text << std::hex << " " << inputs[k][0] << " " << inputs[k].back();
}

// a * b + c rounded once: the product is exact in double; the sum's error, if there is one, goes into the last bit.
std::uint32_t fused(const std::vector<std::uint32_t>& s) {
  const double product = double{as_float(s[0])} * as_float(s[1]), c = as_float(s[2]), sum = product + c;
  if (!std::isfinite(sum)) return single(sum, s);
  const double back = sum - product, error = (product - (sum - back)) + (c - back);
  const bool even = (bits_of(sum) & 1) == 0;
  return single(error != 0 && even ? std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL) : sum, s);
}

TEST(ValuFloat, SumsAndProducts) {
  for (const Arch arch : archs_with("v_add_f32")) {
    check_f32(arch, "v_add_f32 v0, v10, v20", 2,
              [](auto& s) { return single(Wide{as_float(s[0])} + as_float(s[1]), s); });
    check_f32(arch, "v_sub_f32 v0, v10, v20", 2, [](auto& s) {
      const float difference = as_float(s[0]) - as_float(s[1]);
      return difference != difference ? nan_f32(s) : bits_of(difference);
    });
    check_f32(arch, "v_mul_f32 v0, v10, v20", 2,
              [](auto& s) { return single(Wide{as_float(s[0])} * as_float(s[1]), s); });
  }
}

TEST(ValuFloat, FmaRoundsOnce) {
  for (const Arch arch : archs_with("v_fma_f32")) check_f32(arch, "v_fma_f32 v0, v10, v20, v30", 3, fused);
}

// Trap: an fma left to the compiler's contraction is not fused with a negated source.
// v_fmac adds to its destination; the other forms have a constant in the instruction.
TEST(ValuFloat, FmaOfOtherForms) {
  const std::uint32_t a = bits_of(1.0F + 0x1p-23F), b = bits_of(1.0F - 0x1p-24F), c = bits_of(-1.0F);
  const std::uint32_t want = fused({a, b, c});
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    const auto arch = static_cast<Arch>(n);
    OneWave wave(arch);
    wave.fill(0, c), wave.fill(10, a), wave.fill(20, b), wave.fill(30, c);
    for (const std::string line :
         {"v_fmac_f32 v0, v10, v20", "v_fmaak_f32 v0, v10, v20, 0xbf800000", "v_fmamk_f32 v0, v10, 0x3f7fffff, v30"}) {
      if (!has(arch, line)) continue;
      wave.run(line);
      EXPECT_EQ(wave.v(0), want) << name(arch) << " " << line;
    }
  }
}

TEST(ValuFloat, FmaWithNegatedSourceIsFused) {
  OneWave wave(Arch::gfx942);
  wave.fill(10, bits_of(1.0F + 0x1p-23F));
  wave.fill(20, bits_of(1.0F - 0x1p-24F));
  wave.fill(30, bits_of(1.0F));
  wave.run("v_fma_f32 v0, v10, v20, -v30");
  EXPECT_EQ(wave.f(0), static_cast<float>((1.0 + 0x1p-23) * (1.0 - 0x1p-24) - 1.0));
}

// Trap: v_mac and v_mad round the product and flush denormals.
TEST(ValuFloat, MadRoundsTwiceAndFlushes) {
  for (const Arch arch : archs_with("v_mad_f32")) {
    SCOPED_TRACE(rapt::sim::name(arch));
    OneWave wave(arch);
    wave.fill(10, bits_of(1.0F + 0x1p-23F));
    wave.fill(20, bits_of(1.0F + 0x1p-23F));
    wave.fill(30, bits_of(-1.0F));
    wave.run("v_mad_f32 v0, v10, v20, v30");
    EXPECT_EQ(wave.f(0), 0x1p-22F);
    wave.fill(0, bits_of(-1.0F));
    wave.run("v_mac_f32 v0, v10, v20");
    EXPECT_EQ(wave.f(0), 0x1p-22F);
    wave.fill(10, 0x00400000);
    wave.fill(20, bits_of(1.0F));
    wave.fill(30, 0);
    wave.run("v_mad_f32 v0, v10, v20, v30");
    EXPECT_EQ(wave.v(0), 0U);
    wave.run("v_fma_f32 v0, v10, v20, v30");
    EXPECT_EQ(wave.v(0), 0x00400000U);
  }
}

TEST(ValuFloat, LegacyMultiplyTakesZeroTimesAnythingAsZero) {
  for (const std::uint32_t other : {0x7f800000U, 0x7fc00000U, 0x40000000U}) {
    for (const Arch arch : archs_with("v_mul_legacy_f32")) {
      OneWave wave(arch);
      wave.fill(10, 0x80000000);
      wave.fill(20, other);
      wave.run("v_mul_legacy_f32 v0, v10, v20");
      EXPECT_EQ(wave.v(0), 0U);
    }
    for (const Arch arch : archs_with("v_mul_dx9_zero_f32")) {
      OneWave wave(arch);
      wave.fill(10, 0x80000000);
      wave.fill(20, other);
      wave.fill(30, bits_of(3.0F));
      wave.run("v_mul_dx9_zero_f32 v0, v20, v10");
      EXPECT_EQ(wave.v(0), 0U);
      wave.run("v_fma_dx9_zero_f32 v0, v20, v10, v30");
      EXPECT_EQ(wave.f(0), 3.0F);
    }
  }
}

void check_f16(Arch arch, const std::string& text, unsigned sources, bool high_cleared,
               const std::function<long double(const std::vector<double>&)>& exact) {
  OneWave wave(arch);
  const auto inputs = tuples(edges_f16(), sources);
  const auto results = run_all<std::uint32_t>(wave, text, inputs, 0xbeefbeef);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    std::vector<double> values;
    for (const std::uint16_t h : inputs[k]) values.push_back(half_value(h));
    const long double value = exact(values);
    const std::uint32_t expected =
        std::isnan(value) ? nan_f16({inputs[k].begin(), inputs[k].end()}) : nearest_half(value);
    ASSERT_EQ(results[k], expected | (high_cleared ? 0 : 0xbeef0000))
        << text << std::hex << " " << inputs[k][0] << " " << inputs[k].back();
  }
}

TEST(ValuFloat, Half) {
  const auto sum = [](const std::vector<double>& s) { return static_cast<long double>(s[0]) + s[1]; };
  const auto product = [](const std::vector<double>& s) { return static_cast<long double>(s[0]) * s[1]; };
  const auto fused = [](const std::vector<double>& s) { return static_cast<long double>(s[0]) * s[1] + s[2]; };
  // gfx9 clears the upper half except for the operations that have op_sel; gfx11 keeps it.
  for (const Arch arch : archs_with("v_add_f16")) {
    check_f16(arch, "v_add_f16 v0, v10, v20", 2, is_cdna(arch), sum);
    check_f16(arch, "v_mul_f16 v0, v10, v20", 2, is_cdna(arch), product);
    check_f16(arch, "v_fma_f16 v0, v10, v20, v30", 3, false, fused);
  }
}

TEST(ValuFloat, HalfMadRoundsTheProduct) {
  for (const Arch arch : archs_with("v_mad_f16")) {
    SCOPED_TRACE(rapt::sim::name(arch));
    OneWave wave(arch);
    wave.fill(10, 0x3c01);
    wave.fill(20, 0x3c01);
    wave.fill(30, 0xbc00);
    wave.run("v_mad_f16 v0, v10, v20, v30");  // (1 + u)^2 rounds to 1 + 2u, u = 2^-10
    EXPECT_EQ(wave.v(0) & 0xffff, nearest_half(0x1p-9L));
    wave.run("v_fma_f16 v0, v10, v20, v30");
    EXPECT_EQ(wave.v(0) & 0xffff, nearest_half(0x1p-9L + 0x1p-20L));
  }
}

// One of the 16-bit operations of gfx9 that keep the upper half.
TEST(ValuFloat, HalfMac) {
  const auto flushed = [](double x) { return std::fabs(x) < 0x1p-14 ? std::copysign(0.0, x) : x; };
  for (const Arch arch : {Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    OneWave wave(arch);
    for (const std::uint16_t a : edges_f16())
      for (const double b : {1.0, -2.0, 0.5})
        for (const double c : {0.0, 1.0, -0x1p-14, -0x1p-24}) {
          const double x = half_value(a);
          if (std::isnan(x) || std::isinf(x)) continue;
          wave.fill(10, a), wave.fill(20, nearest_half(b)), wave.fill(0, 0xa5a50000 | nearest_half(c));
          wave.run("v_mac_f16 v0, v10, v20");
          const double product = flushed(half_value(nearest_half(flushed(x) * b)));
          const double sum = flushed(half_value(nearest_half(product + flushed(c))));
          ASSERT_EQ(wave.v(0), 0xa5a50000 | nearest_half(sum)) << name(arch) << " " << x << " " << b << " " << c;
        }
    wave.fill(10, 0x3c01), wave.fill(20, 0x3c01), wave.fill(0, 0xbc00);
    wave.run("v_mac_f16 v0, v10, v20");
    EXPECT_EQ(wave.v(0), nearest_half(0x1p-9L)) << "the product is rounded";
  }
}

TEST(ValuFloat, Double) {
  for (const Arch arch : archs_with("v_add_f64")) {
    SCOPED_TRACE(rapt::sim::name(arch));
    OneWave wave(arch);
    const auto pairs = tuples(edges_f64(), 2);
    const auto sums = run_all<std::uint64_t>(wave, "v_add_f64 v[0:1], v[10:11], v[20:21]", pairs);
    const auto products = run_all<std::uint64_t>(wave, "v_mul_f64 v[0:1], v[10:11], v[20:21]", pairs);
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const double a = as_double(pairs[k][0]), b = as_double(pairs[k][1]);
      const double sum = static_cast<double>(Wide{a} + b), product = static_cast<double>(Wide{a} * b);
      ASSERT_EQ(sums[k], sum != sum ? nan_f64(pairs[k]) : bits_of(sum)) << a << " " << b;
      ASSERT_EQ(products[k], product != product ? nan_f64(pairs[k]) : bits_of(product)) << a << " " << b;
    }
  }
}

TEST(ValuFloat, RoundingModesAreThoseOfTheType) {
  OneWave wave(Arch::gfx942);
  for (unsigned round = 0; round < 4; ++round) {
    // f32's mode does not affect f16 and f64, and vice versa.
    wave.wave().mode = (wave.wave().mode & ~0xfU) | round;
    wave.fill(10, bits_of(1.0F));
    wave.fill(20, bits_of(0x1p-30F));
    wave.run("v_add_f32 v0, v10, v20");
    EXPECT_EQ(wave.v(0), 0x3f800000U + (round == 1 ? 1 : 0)) << round;
    wave.run("v_sub_f32 v0, v20, v10");
    EXPECT_EQ(wave.v(0), 0xbf800000U - (round == 1 || round == 3 ? 1 : 0)) << round;
    wave.fill(10, 0x3c00);
    wave.fill(20, 0x0001);
    wave.run("v_add_f16 v0, v10, v20");
    EXPECT_EQ(wave.v(0), 0x3c00U);

    wave.wave().mode = (wave.wave().mode & ~0xfU) | round << 2;
    wave.run("v_add_f16 v0, v10, v20");
    EXPECT_EQ(wave.v(0), nearest_half(1 + 0x1p-24L, round)) << round;
    wave.run("v_add_f16 v0, -v10, -v20");
    EXPECT_EQ(wave.v(0), nearest_half(-1 - 0x1p-24L, round)) << round;
    for (const float value : {1.0002F, -1.0002F, 70000.0F, -70000.0F, 1e-7F, -1e-9F}) {
      wave.fill(10, bits_of(value));
      wave.run("v_cvt_f16_f32 v0, v10");
      EXPECT_EQ(wave.v(0), nearest_half(value, round)) << value << " " << round;
    }
  }
}

TEST(ValuFloat, DenormalModes) {
  for (const Arch arch : archs_with("v_max_f32")) {
    SCOPED_TRACE(rapt::sim::name(arch));
    OneWave wave(arch);
    const std::uint32_t tiny = 0x00400000, least_normal = 0x00800000;
    for (unsigned keep = 0; keep < 4; ++keep) {
      const bool in = (keep & 1) != 0, out = (keep & 2) != 0;
      wave.wave().mode = (wave.wave().mode & ~0x30U) | keep << 4;
      wave.fill(10, tiny | 0x80000000);
      wave.fill(20, bits_of(4.0F));
      wave.run("v_mul_f32 v0, v10, v20");  // a normal result of a denormal
      EXPECT_EQ(wave.v(0), in ? 0x81000000U : 0x80000000U) << keep;
      wave.fill(10, least_normal);
      wave.fill(20, bits_of(-0.5F));
      wave.run("v_mul_f32 v0, v10, v20");  // a denormal result of normals
      EXPECT_EQ(wave.v(0), out ? 0x80400000U : 0x80000000U) << keep;
      wave.fill(10, tiny);
      wave.fill(20, 0);
      wave.run("v_max_f32 v0, v10, v20");  // the inputs' mode decides
      EXPECT_EQ(wave.v(0), in ? tiny : 0U) << keep;
      wave.run("v_mov_b32 v0, v10");
      EXPECT_EQ(wave.v(0), tiny);
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
