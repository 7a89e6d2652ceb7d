// Transcendental functions: within 1 ulp of the true value, special cases, flushed denormals.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

// Units in the last place of the f32 (24 bits) or f16 (11 bits) nearest to the value.
double ulps(double got, long double want, int digits, int least_exponent) {
  int e = 0;
  std::frexp(want, &e);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, std::max(e, least_exponent) - digits));
}

std::vector<std::vector<std::uint32_t>> samples(unsigned count) {
  std::vector<std::vector<std::uint32_t>> result;
  std::uint32_t x = 12345;
  for (unsigned k = 0; k < count; ++k) {
    x = x * 1664525 + 1013904223;
    // Every other value of the magnitudes for which the functions vary most.
    result.push_back({k % 2 == 0 ? x : (x & 0x807fffff) | (0x38800000 + (x >> 9) % 0x10000000)});
  }
  return result;
}

void check_f32(OneWave& wave, const std::string& name, const std::function<long double(long double)>& function) {
  // All architectures have the same functions: one of them is tested closely.
  const auto inputs = samples(wave.wave().arch == Arch::gfx942 ? 200000 : 5000);
  const auto results = run_all<std::uint32_t>(wave, name + " v0, v10", inputs);
  double worst = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const float x = as_float(inputs[k][0]), got = as_float(results[k]);
    if (!std::isfinite(x) || std::fabs(x) < 0x1p-126F) continue;
    const long double want = function(x);
    if (std::isnan(want)) {
      ASSERT_EQ(results[k], 0xffc00000U) << name << " " << x;
    } else if (std::fabs(want) < 0x1p-126L) {
      ASSERT_LE(std::fabs(got), 0x1p-126F) << name << " " << x;
    } else if (std::fabs(want) >= 0x1p128L) {
      ASSERT_TRUE(std::isinf(got)) << name << " " << x;
    } else {
      worst = std::max(worst, ulps(got, want, 24, -125));
      ASSERT_LE(worst, 1.0) << name << " " << x;
    }
  }
  EXPECT_GT(worst, 0.3) << name;  // the samples are good enough to show errors
}

const long double pi = std::acos(-1.0L);
long double turns(long double x) { return x - std::rint(x); }

TEST(ValuTranscendental, WithinOneUlp) {
  for (const Arch arch : archs_with("v_exp_f32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    check_f32(wave, "v_exp_f32", [](long double x) { return std::exp2(x); });
    check_f32(wave, "v_log_f32", [](long double x) { return std::log2(x); });
    check_f32(wave, "v_rcp_f32", [](long double x) { return 1 / x; });
    check_f32(wave, "v_sqrt_f32", [](long double x) { return std::sqrt(x); });
    check_f32(wave, "v_rsq_f32", [](long double x) { return 1 / std::sqrt(x); });
    check_f32(wave, "v_sin_f32", [](long double x) {
      const long double r = turns(x);
      return r == 0 || std::fabs(r) == 0.5L ? 0 : std::sin(2 * pi * r);
    });
    check_f32(wave, "v_cos_f32", [](long double x) {
      const long double r = turns(x);
      return std::fabs(r) == 0.25L ? 0 : std::cos(2 * pi * r);
    });
  }
}

constexpr std::uint32_t inf = 0x7f800000, minus = 0x80000000, nan = 0xffc00000, one = 0x3f800000;

struct Example {
  const char* name;
  std::uint32_t in, out;
};
const Example examples[] = {
    {"v_exp_f32", inf | minus, 0},
    {"v_exp_f32", minus, one},
    {"v_exp_f32", inf, inf},
    {"v_exp_f32", 0x7fc12345, 0x7fc12345},
    {"v_exp_f32", 0x7f812345, 0x7fc12345},
    {"v_exp_f32", 0xc2fc0000, 0x00800000},
    {"v_exp_f32", 0xc2fc0001, 0},
    {"v_exp_f32", 0x42fe0000, 0x7f000000},
    {"v_exp_f32", 0x43000000, inf},
    {"v_exp_f32", 0x00000001, one},
    {"v_exp_f32", 0xc1200000, 0x3a800000},
    {"v_log_f32", inf | minus, nan},
    {"v_log_f32", one | minus, nan},
    {"v_log_f32", minus, inf | minus},
    {"v_log_f32", 0, inf | minus},
    {"v_log_f32", one, 0},
    {"v_log_f32", inf, inf},
    {"v_log_f32", 0x00400000, inf | minus},
    {"v_log_f32", 0x80000001, inf | minus},
    {"v_log_f32", 0x00800000, 0xc2fc0000},
    {"v_rcp_f32", inf | minus, minus},
    {"v_rcp_f32", 0xc0000000, 0xbf000000},
    {"v_rcp_f32", minus, inf | minus},
    {"v_rcp_f32", 0, inf},
    {"v_rcp_f32", inf, 0},
    {"v_rcp_f32", 0x00400000, inf},
    {"v_rcp_f32", 0x7f000000, 0},
    {"v_rcp_f32", 0x7e800000, 0x00800000},
    {"v_rcp_f32", 0xff7fffff, minus},
    {"v_rsq_f32", inf | minus, nan},
    {"v_rsq_f32", minus, inf | minus},
    {"v_rsq_f32", 0, inf},
    {"v_rsq_f32", 0x40800000, 0x3f000000},
    {"v_rsq_f32", inf, 0},
    {"v_rsq_f32", 0x00000001, inf},
    {"v_sqrt_f32", inf | minus, nan},
    {"v_sqrt_f32", minus, minus},
    {"v_sqrt_f32", 0, 0},
    {"v_sqrt_f32", 0x40800000, 0x40000000},
    {"v_sqrt_f32", inf, inf},
    {"v_sqrt_f32", 0x00000001, 0},
    {"v_sin_f32", inf | minus, nan},
    {"v_sin_f32", 0xff7fffff, 0},
    {"v_sin_f32", minus, minus},
    {"v_sin_f32", 0x3e800000, one},
    {"v_sin_f32", inf, nan},
    {"v_cos_f32", inf | minus, nan},
    {"v_cos_f32", 0xff7fffff, one},
    {"v_cos_f32", minus, one},
    {"v_cos_f32", 0x3e800000, 0},
    {"v_cos_f32", inf, nan},
};

TEST(ValuTranscendental, ExamplesOfTheDocuments) {
  for (const Arch arch : archs_with("v_exp_f32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    for (const Example& example : examples) {
      wave.fill(10, example.in);
      wave.run(std::string(example.name) + " v0, v10");
      EXPECT_EQ(wave.v(0), example.out) << example.name << std::hex << " " << example.in;
    }
  }
}

TEST(ValuTranscendental, Half) {
  for (const Arch arch : archs_with("v_exp_f16")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    std::vector<std::vector<std::uint32_t>> all;
    for (std::uint32_t h = 0; h < 65536; ++h) all.push_back({h});
    const auto check = [&](const std::string& name, double bound,
                           const std::function<long double(long double)>& function) {
      const auto results = run_all<std::uint32_t>(wave, name + " v0, v10", all);
      for (const auto& in : all) {
        const double x = half_value(in[0]);
        const long double want = function(x);
        if (std::isnan(want) || std::fabs(want) >= 65520) {
          ASSERT_EQ(results[in[0]] & 0xffff, std::isnan(want) ? nan_f16({in[0]}) : nearest_half(want))
              << name << " " << x;
        } else {
          ASSERT_LE(ulps(half_value(results[in[0]] & 0xffff), want, 11, -13), bound) << name << " " << x;
        }
      }
    };
    check("v_exp_f16", 0.51, [](long double x) { return std::exp2(x); });
    check("v_log_f16", 0.51, [](long double x) { return std::log2(x); });
    check("v_rcp_f16", 0.51, [](long double x) { return 1 / x; });
    check("v_sqrt_f16", 0.51, [](long double x) { return std::sqrt(x); });
    check("v_rsq_f16", 0.51, [](long double x) { return 1 / std::sqrt(x); });
    check("v_sin_f16", 0.51, [](long double x) { return std::sin(2 * pi * turns(x)); });
  }
}

TEST(ValuTranscendental, Double) {
  for (const Arch arch : archs_with("v_rcp_f64")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    for (const std::uint64_t bits : edges_f64()) {
      const double x = as_double(bits);
      wave.set_v64(10, 0, bits);
      wave.run("v_rcp_f64 v[0:1], v[10:11]\nv_sqrt_f64 v[2:3], v[10:11]\nv_rsq_f64 v[4:5], v[10:11]");
      for (const auto& [reg, want] : {std::pair{0U, 1 / x}, {2U, std::sqrt(x)}, {4U, 1 / std::sqrt(x)}})
        EXPECT_EQ(wave.v64(reg), want != want ? nan_f64({bits}) : bits_of(want)) << x;
    }
  }
}

TEST(ValuTranscendental, ScalarResults) {
  OneWave wave(Arch::gfx1201);
  wave.s(4) = bits_of(3.0F);
  wave.s(5) = nearest_half(0.25);
  wave.s(sreg::exec) = 0;
  wave.run("v_s_exp_f32 s6, s4\nv_s_rcp_f32 s7, -s4\nv_s_sqrt_f16 s8, s5\nv_s_log_f16 s9, s5\nv_s_rsq_f32 s10, 4.0");
  EXPECT_EQ(wave.s(6), bits_of(8.0F));
  EXPECT_EQ(wave.s(7), bits_of(-1.0F / 3.0F));
  EXPECT_EQ(wave.s(8), nearest_half(0.5));
  EXPECT_EQ(wave.s(9), nearest_half(-2.0));
  EXPECT_EQ(wave.s(10), bits_of(0.5F));
}

}  // namespace
}  // namespace rapt::sim::test
