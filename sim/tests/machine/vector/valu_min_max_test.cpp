// Minimum, maximum and median of floating-point values: zeros' signs, NaNs by architecture and mode.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using Bits = std::uint32_t;
bool nan(Bits x) { return (x & 0x7fffffff) > 0x7f800000; }
bool signalling(Bits x) { return nan(x) && (x & 0x00400000) == 0; }
Bits quiet(Bits x) { return x | 0x00400000; }
// Order of numbers as integers, -0 below +0.
std::int64_t rank(Bits x) { return (x >> 31) != 0 ? -std::int64_t{x & 0x7fffffff} - 1 : std::int64_t{x}; }

enum class Rule { cdna_ieee, cdna, rdna3_ieee, rdna4 };

Bits expected(Rule rule, bool max, Bits a, Bits b) {
  if (rule == Rule::cdna_ieee || rule == Rule::rdna3_ieee) {
    if (signalling(a)) return quiet(a);
    if (signalling(b)) return quiet(b);
  }
  if (nan(a) && nan(b)) return rule == Rule::rdna4 ? quiet(a) : rule == Rule::rdna3_ieee ? a : b;
  if (nan(a)) return b;
  if (nan(b)) return a;
  return (rank(a) > rank(b)) == max ? a : b;
}

void check(Arch arch, bool ieee, Rule rule, const std::string& min, const std::string& max) {
  OneWave wave(arch);
  if (!ieee) wave.wave().mode &= ~mode::ieee;
  const auto pairs = tuples(edges_f32(), 2);
  for (const bool greatest : {false, true}) {
    const auto results = run_all<Bits>(wave, (greatest ? max : min) + " v0, v10, v20", pairs);
    for (std::size_t k = 0; k < pairs.size(); ++k)
      ASSERT_EQ(results[k], expected(rule, greatest, pairs[k][0], pairs[k][1]))
          << min << std::hex << " " << pairs[k][0] << " " << pairs[k][1];
  }
}

TEST(ValuMinMax, TwoSources) {
  for (const Arch arch : archs_with("v_min_f32", cdna)) {
    check(arch, true, Rule::cdna_ieee, "v_min_f32", "v_max_f32");
    check(arch, false, Rule::cdna, "v_min_f32", "v_max_f32");
  }
  for (const Arch arch : archs_with("v_min_f32", gfx11)) check(arch, true, Rule::rdna3_ieee, "v_min_f32", "v_max_f32");
  check(Arch::gfx1201, true, Rule::rdna4, "v_min_num_f32", "v_max_num_f32");
}

TEST(ValuMinMax, PropagatingFormsPreferNan) {
  OneWave wave(Arch::gfx1201);
  const auto pairs = tuples(edges_f32(), 2);
  const auto results = run_all<Bits>(wave, "v_maximum_f32 v0, v10, v20", pairs);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const Bits a = pairs[k][0], b = pairs[k][1];
    const Bits number = rank(a) > rank(b) ? a : b;
    const Bits want = signalling(a) ? quiet(a) : signalling(b) ? quiet(b) : nan(a) ? a : nan(b) ? b : number;
    ASSERT_EQ(results[k], want) << std::hex << a << " " << b;
  }
}

TEST(ValuMinMax, HalfAndDouble) {
  for (const Arch arch : archs_with("v_min_f16")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    for (const auto& [a, b, least, most] : {std::array<Bits, 4>{0x0000, 0x8000, 0x8000, 0x0000},
                                            {0x7e00, 0x3c00, 0x3c00, 0x3c00},
                                            {0x7c01, 0x3c00, 0x7e01, 0x7e01},
                                            {0xfc00, 0x0001, 0xfc00, 0x0001}}) {
      wave.fill(10, a);
      wave.fill(20, b);
      wave.run("v_min_f16 v0, v10, v20");
      EXPECT_EQ(wave.v(0) & 0xffff, least) << std::hex << a;
      wave.run("v_max_f16 v0, v10, v20");
      EXPECT_EQ(wave.v(0) & 0xffff, most) << std::hex << a;
    }
    wave.set_v64(10, 0, 0x8000000000000000);
    wave.set_v64(20, 0, 0);
    wave.run("v_max_f64 v[0:1], v[10:11], v[20:21]");
    EXPECT_EQ(wave.v64(0), 0U);
    wave.set_v64(20, 0, 0x7ff0000000000001);
    wave.run("v_min_f64 v[0:1], v[10:11], v[20:21]");
    EXPECT_EQ(wave.v64(0), 0x7ff8000000000001U);
  }
}

TEST(ValuMinMax, MedianIsTheMiddleNumber) {
  for (const Arch arch : archs_with("v_med3_f32")) {
    OneWave wave(arch);
    std::vector<Bits> numbers;
    for (const Bits x : edges_f32())
      if (!nan(x)) numbers.push_back(x);
    const auto triples = tuples(numbers, 3);
    const auto results = run_all<Bits>(wave, "v_med3_f32 v0, v10, v20, v30", triples);
    for (std::size_t k = 0; k < triples.size(); ++k) {
      auto sorted = triples[k];
      std::sort(sorted.begin(), sorted.end(), [](Bits a, Bits b) { return as_float(a) < as_float(b); });
      ASSERT_EQ(as_float(results[k]), as_float(sorted[1]));
    }
    // With a NaN: the least of the numbers.
    wave.fill(10, 0x7fc00000);
    wave.fill(20, bits_of(2.0F));
    wave.fill(30, bits_of(1.0F));
    wave.run("v_med3_f32 v0, v10, v20, v30");
    EXPECT_EQ(wave.f(0), 1.0F);
  }
}

TEST(ValuMinMax, ThreeSources) {
  for (const Arch arch : archs_with("v_maximum3_f32")) {
    OneWave wave(arch);
    wave.fill(10, bits_of(3.0F));
    wave.fill(20, bits_of(-1.0F));
    wave.fill(30, bits_of(7.0F));
    for (const auto& [name, value] : std::map<std::string, float>{{"v_min3_num_f32", -1},
                                                                  {"v_max3_num_f32", 7},
                                                                  {"v_med3_num_f32", 3},
                                                                  {"v_minmax_num_f32", 7},
                                                                  {"v_maxmin_num_f32", 3},
                                                                  {"v_minimum3_f32", -1},
                                                                  {"v_maximum3_f32", 7},
                                                                  {"v_minimummaximum_f32", 7},
                                                                  {"v_maximumminimum_f32", 3}}) {
      if (!has(arch, name)) continue;
      wave.run(name + " v0, v10, v20, v30");
      EXPECT_EQ(wave.f(0), value) << name;
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
