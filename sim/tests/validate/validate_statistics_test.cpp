// The numbers that say how good forecasts are, on rows whose answer can be counted by hand.
#include "sim/validate/input/input_error.hpp"
#include "sim/validate/statistics.hpp"
#include "sim/validate/validate.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rapt::sim::validate {
namespace {

TEST(Statistics, CountsRowsFromTenMicrosecondsOn) {
  // Off by 10, 20, 28 and 50 %, one without a forecast, and one that is too short to count.
  const Statistics s = statistics(
      {{"a", 100, 110}, {"b", 200, 160}, {"c", 400, 512}, {"d", 800, 1200}, {"e", 10, std::nullopt}, {"f", 9, 9}});
  EXPECT_EQ(s.rows, 6U);
  EXPECT_EQ(s.forecasts, 5U);
  for (const Share& within : s.within) EXPECT_EQ(within.of, 5U);
  EXPECT_EQ(s.within[0].right, 1U);
  EXPECT_EQ(s.within[1].right, 2U);
  EXPECT_EQ(s.within[2].right, 3U);
  EXPECT_NEAR(*s.geometric_mean, std::pow(1.1 * 0.8 * 1.28 * 1.5, 0.25), 1e-12);
  EXPECT_EQ(s.order.of, 1U);  // d is twice c; only e and f are closer
  EXPECT_EQ(s.order.right, 0U);
}

TEST(Statistics, ComparesTheOrderOfPairs) {
  // 100 and 105 are too close, 100 and 200 too far for `order`.
  const Statistics s = statistics({{"x", 100, 50}, {"y", 105, 40}, {"x", 140, 60}, {"y", 200, 55}});
  EXPECT_EQ(s.order.of, 3U);     // 100 140, 105 140, 140 200
  EXPECT_EQ(s.order.right, 2U);  // the last is reversed
  EXPECT_EQ(s.rivals.of, 2U);
  EXPECT_EQ(s.rivals.right, 2U);
  EXPECT_EQ(statistics({{"x", 100, 50}, {"x", 120, 50}}).order.right, 0U) << "equal forecasts are no order";
  EXPECT_FALSE(statistics({}).geometric_mean.has_value());
  EXPECT_FALSE(statistics({}).order.percent().has_value());
}

Measurement row(const char* kernel, const std::string& shape, double us) {
  return {1, Arch::gfx950, 256, "gemm", kernel, shape, us, "k.co"};
}
constexpr const char* gemm = "_ZN5aiter24bf16gemm_bf16_tn_256x256E";
const std::string options = " splitK=1 bias=False out=bfloat16 pre=False";

TEST(Roofline, TakesTheSlowerOfArithmeticAndMemory) {
  const timing::Chip& mi355x = chip_of(Arch::gfx950, 256);
  EXPECT_DOUBLE_EQ(roofline_microseconds({peak(mi355x, MatrixType::bf16) / 2 * 1e-6 * 3, 1, MatrixType::bf16}, mi355x),
                   7);
  EXPECT_DOUBLE_EQ(roofline_microseconds({1, 8e12 * 0.8 * 1e-6 * 5, MatrixType::fp8}, mi355x), 9);
  EXPECT_THROW(roofline_microseconds({1, 1, MatrixType::fp4}, chip_of(Arch::gfx942, 304)), InputError);
  EXPECT_THROW(chip_of(Arch::gfx942, 81), InputError);
}

TEST(Roofline, FactorsMakeTheGeometricMeanOne) {
  const std::vector<Measurement> rows = {row(gemm, "M=1024 N=1024 K=1024" + options, 20),
                                         row(gemm, "M=4096 N=4096 K=4096" + options, 100), row("unknown", "M=1", 5)};
  const Roofline roofline(rows);
  EXPECT_NEAR(*roofline.microseconds(rows[0]) / 20 * *roofline.microseconds(rows[1]) / 100, 1, 1e-12);
  // 2 * 4096^3 at 1258.3 TFLOP/s and 2 * 1024^3 at that, or 6 MiB at 6.4 TB/s, each plus 4 us.
  EXPECT_NEAR(*roofline.microseconds(rows[1]) / *roofline.microseconds(rows[0]), (109.2267 + 4) / (1.7067 + 4), 1e-3);
  EXPECT_FALSE(roofline.microseconds(rows[2]).has_value());
}

TEST(Validate, AnUnknownKernelCountsAsWrong) {
  const std::vector<Measurement> rows = {row(gemm, "M=256 N=256 K=1024" + options, 20), row("unknown", "M=1", 50)};
  const Roofline roofline(rows);
  Objects objects("/none");
  std::vector<Result> results;
  for (const Measurement& r : rows) results.push_back(evaluate(objects, r, roofline, {}));
  EXPECT_NE(results[1].refusal.find("no family has the kernel 'unknown'"), std::string::npos);
  bool found = false;
  for (const Summary& s : summarize(results)) {
    EXPECT_EQ(s.forecaster, "roofline") << "there was no other forecast";
    if (s.rows != "all" || !s.family.empty()) continue;
    found = true;
    EXPECT_EQ(s.statistics.within[2].right, 1U);
    EXPECT_EQ(s.statistics.within[2].of, 2U);
  }
  EXPECT_TRUE(found);
}

TEST(Validate, HoldsOutAThirdByKernelAndShape) {
  unsigned out = 0;
  for (unsigned m = 1; m <= 3000; ++m) out += held_out(row(gemm, "M=" + std::to_string(m), m));
  EXPECT_NEAR(out, 1000, 100);
  Measurement a = row(gemm, "M=1", 1), b = a;
  b.microseconds = 2, b.line = 9, b.code_object = "elsewhere";
  EXPECT_EQ(held_out(a), held_out(b));
}

}  // namespace
}  // namespace rapt::sim::validate
