// The command's own arithmetic and bookkeeping: half precision, row filters, problem sizes, the correctness rule.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/bench/tables.hpp"
#include "cli/inputs/dtype.hpp"
#include "cli/core/environment.hpp"
#include "cli/core/inputs.hpp"
#include "cli/inputs/error.hpp"
#include "cli/rule/rule.hpp"

namespace rapt::cli {
namespace {

TEST(Half, EveryFp16SurvivesAndTiesGoToEven) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double value = fp16_to(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(fp16_from(value), bits);
    if (std::isinf(value) || (bits & 0x7fff) == 0x7bff) continue;
    const double next = fp16_to(static_cast<uint16_t>(bits + 1)), middle = (value + next) / 2;
    EXPECT_EQ(fp16_from(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    EXPECT_EQ(fp16_from(std::nextafter(middle, next)), bits + 1) << bits;
    EXPECT_EQ(fp16_from(std::nextafter(middle, value)), bits) << bits;
  }
  EXPECT_EQ(fp16_from(65519.9), 0x7bff);
  EXPECT_EQ(fp16_from(65520), 0x7c00);
  EXPECT_TRUE(std::isnan(fp16_to(fp16_from(NAN))));
}

TEST(Half, EveryBf16SurvivesAndIsRoundedOnce) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double value = bf16_to(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(bf16_from(value), bits);
    if (std::isinf(value) || (bits & 0x7fff) == 0x7f7f) continue;
    const double next = bf16_to(static_cast<uint16_t>(bits + 1)), middle = (value + next) / 2;
    EXPECT_EQ(bf16_from(middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    if ((bits & 0x7fff) < 0x0100) continue;  // below this, float itself is subnormal and its rounding coarser
    EXPECT_EQ(bf16_from(std::nextafter(middle, next)), bits + 1) << bits;
    EXPECT_EQ(bf16_from(std::nextafter(middle, value)), bits) << bits;
  }
  EXPECT_TRUE(std::isnan(bf16_to(bf16_from(NAN))));
}

TEST(Rows, FiltersByNameAndRange) {
  const auto count = [](const char* filter) { return filter_rows(bench_table("strix-halo"), filter).size(); };
  EXPECT_EQ(count("Small"), 2U);
  EXPECT_EQ(count("tiny..MEDIUM"), 6U);
  EXPECT_EQ(count("Tiny,Large..XLarge"), 6U);
  EXPECT_THROW(count("Large..Tiny"), InputError);
  EXPECT_THROW(count("Huge"), InputError);
  EXPECT_THROW(count(""), InputError);
}

TEST(Rocm, OldReleasesAreWarnedOfOnStrixHaloOnly) {
  const auto warns = [](const char* arch, const char* runtime) {
    rapt_device_info info = RAPT_INIT(rapt_device_info);
    info.arch = arch;
    info.runtime = runtime;
    return !rocm_warnings(info).empty();
  };
  EXPECT_TRUE(warns("gfx1151", "ROCm, HIP 6.4.43483"));
  EXPECT_TRUE(warns("gfx1151", "ROCm, HIP 7.1.25424"));
  EXPECT_FALSE(warns("gfx1151", "ROCm, HIP 7.2.26015"));
  EXPECT_FALSE(warns("gfx1151", "ROCm, HIP 7.10.60000"));
  EXPECT_FALSE(warns("gfx1100", "ROCm, HIP 7.1.25424"));
  EXPECT_FALSE(warns("gfx1151", "AMD GPU simulator (as HIP 7.1.25424)"));
}

TEST(Tables, EveryProblemParses) {
  for (const std::string& table : bench_table_names())
    for (const BenchCase& c : bench_table(table)) EXPECT_EQ(Problem::parse(c.problem).text(), c.problem);
}

TEST(Flops, CountsPairsOfQueriesAndKeys) {
  EXPECT_EQ(flops(Problem::parse("b2 hq4 hk2 sq8 sk16 d32 fp32"), RAPT_FORWARD), 4.0 * 2 * 4 * 8 * 16 * 32);
  EXPECT_EQ(flops(Problem::parse("b2 hq4 hk2 sq8 sk8 d32 fp32 causal"), RAPT_BACKWARD), 2.5 * 4 * 2 * 4 * 36 * 32);
  EXPECT_EQ(flops(Problem::parse("b1 hq1 hk1 sq10 sk10 d1 fp32 window=1,1"), RAPT_FORWARD), 4.0 * 28);
  EXPECT_EQ(flops(Problem::parse("b1 hq1 hk1 sq10 sk12 d1 fp32 causal window=2,5"), RAPT_FORWARD), 4.0 * 30);
  EXPECT_EQ(flops(Problem::parse("b1 hq1 hk1 sq4 sk4 d1 fp32 window=9223372036854775807,-1"), RAPT_FORWARD), 4.0 * 16);
  EXPECT_EQ(flops(Problem::parse("b2 hq1 hk1 sq8 sk8 d4 dv8 fp32 varlen=8:2,1:8"), RAPT_FORWARD), 2.0 * 12 * (16 + 8));
}

TEST(Inputs, AreTheSeedsAndFitTheProblem) {
  const Problem p = Problem::parse("b2 hq4 hk2 sq8 sk16 d4 dv6 fp16 bias=b1hN mask=bNh1q1 alibi sink paged=5");
  const Attention a = make_inputs(p, InputKind::normal, 3), same = make_inputs(p, InputKind::normal, 3);
  EXPECT_EQ(a.q.shape(), (std::vector<int64_t>{2, 8, 4, 4}));
  EXPECT_EQ(a.v.shape(), (std::vector<int64_t>{11, 5, 2, 6}));
  EXPECT_EQ(a.bias.shape(), (std::vector<int64_t>{1, 4, 8, 16}));
  EXPECT_EQ(a.mask.shape(), (std::vector<int64_t>{2, 1, 1, 16}));
  EXPECT_EQ(a.block_table.shape(), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(a.k.memory(), same.k.memory());
  EXPECT_NE(a.k.memory(), make_inputs(p, InputKind::normal, 4).k.memory());
}

TEST(Inputs, PaddedRowsHaveGapsOfNanBetweenThem) {
  const Problem p = Problem::parse("b2 hq4 hk2 sq3 sk5 d4 dv6 bf16");
  const Attention compact = make_inputs(p, InputKind::normal, 3);
  const Attention padded = make_inputs(p, InputKind::normal, 3, Layout::padded);
  for (const Array& x : {padded.v.converted(kFp32), padded.v}) {
    EXPECT_EQ(x.shape(), compact.v.shape());
    EXPECT_EQ(x.values(), compact.v.values());
    EXPECT_GT(x.strides()[2], 6);
    EXPECT_GT(x.bytes(), x.count() * x.dtype().bits / 8);
    EXPECT_TRUE(x.gaps_untouched());
  }
}

constexpr double kUnit = 0x1p-24;

TEST(Bounds, RowsWithNanDoNotCount) {
  const Problem p = Problem::parse("b1 hq1 hk1 sq3 sk5 d1 fp64 causal-tl");
  Attention a = make_inputs(p, InputKind::normal, 1);
  a.q.fill([](int64_t) { return 1; });
  for (const double x : {static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    a.k.fill([&](int64_t j) { return j == 2 ? x : 1; });
    const Bounds b = bounds_of(p.c(), a, nullptr);
    EXPECT_GT(b.at("lse")[1], 0);
    EXPECT_EQ(b.at("lse")[2], 0);
    EXPECT_EQ(b.at("out")[2], 0);
  }
}

TEST(Bounds, RowsAreInTheOrderOfLse) {
  const auto of = [](const char* text) {
    const Problem p = Problem::parse(text);
    Attention a = make_inputs(p, InputKind::normal, 1);
    a.k.fill([](int64_t) { return 1; });
    a.q.fill([&](int64_t i) { return i == 5 ? 1e9 : 3; });
    std::vector<size_t> large;
    const std::vector<double> rows = bounds_of(p.c(), a, nullptr).at("lse");
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i] > 1) large.push_back(i);
    return large;
  };
  EXPECT_EQ(of("b2 hq2 hk1 sq3 sk2 d1 fp64"), std::vector<size_t>{5});
  EXPECT_EQ(of("b2 hq2 hk1 sq3 sk2 d1 fp64 varlen=1:2,3:2"), std::vector<size_t>{6});
}

// One query and one key: the logit has the term 3 * -5, dP has 2 * -7, and delta the same. In units.
using Own = std::vector<std::pair<const char*, double>>;
void expect_own(const char* text, const Own& want) {
  const auto bounds = [&] {
    const Problem p = Problem::parse(text);
    Attention a = make_inputs(p, InputKind::normal, 1);
    Array dout = a.q;
    for (const auto& [to, value] : {std::pair{&a.q, 3.0}, {&a.k, -5.0}, {&a.v, -7.0}, {&dout, 2.0}})
      to->fill([value = value](int64_t) { return value; });
    if (a.sink) a.sink.set(0, -20);
    if (a.bias) a.bias.set(0, -5);
    return bounds_of(p.c(), a, &dout);  // needs none of these any more
  }();
  for (const auto& [tensor, own] : want) {
    ASSERT_EQ(bounds.at(tensor).size(), 1U) << tensor;
    EXPECT_NEAR(bounds.at(tensor)[0] / kUnit, own, 1e-4 * own) << text << ' ' << tensor;
  }
}

TEST(Bounds, OwnAreTheTermsOfAnElement) {
  const double lse = 4 * 16 + 8 * 15, dp = 8 * 14;
  const Own plain = {{"lse", lse},
                     {"out", std::hypot(7, 7) + 4 * 7 + 7 / 2.0},
                     {"dv", std::hypot(2 * lse, 2) + 4 * 2},
                     {"dq", std::hypot(dp, dp) * 5},
                     {"dk", (dp + dp) * 3}};
  expect_own("b1 hq1 hk1 sq1 sk1 d1 fp64", plain);
  expect_own("b1 hq1 hk1 sq1 sk1 d1 fp64 varlen=1:1", plain);
  expect_own("b1 hq1 hk1 sq1 sk1 d1 fp64 scale=2", {{"lse", 4 * 31 + 8 * 30}, {"dq", 2 * std::hypot(dp, dp) * 5}});
  expect_own("b1 hq1 hk1 sq1 sk1 d1 fp64 softcap=1", {{"lse", 4 * 2}});  // at the cap
  expect_own("b1 hq1 hk1 sq1 sk1 d1 fp64 drop=0.5", {{"lse", lse}, {"out", std::hypot(14, 14) + 4 * 14 + 14 / 2.0}});
  // The sink has half of the weight.
  const double of_lse = 4 * 21, error = of_lse + 8 * 15, both = of_lse + 8 * 15 / 2.0;
  const double of_delta = dp / 2 + (error + both) / 2 * 7;
  expect_own("b1 hq1 hk1 sq1 sk1 d1 fp64 bias=b1h1 sink",
             {{"lse", both},
              {"dbias", std::hypot(error / 2 * 7 + dp / 2, of_delta / 2) + 4 * 3.5},
              {"dsink", of_lse / 2 * 7 + of_delta / 2 + 4 * 3.5}});
}

// Two rows share an element of the bias, and a sink, and each has half of its weight there: their errors are
// independent.
TEST(Bounds, OwnErrorsOfRowsAddUpAsSquares) {
  const Problem p = Problem::parse("b1 hq1 hk1 sq2 sk1 d1 fp16 bias=b1h1q1 sink");
  Attention a = make_inputs(p, InputKind::normal, 1);
  Array dout = a.q;
  for (const auto& [to, value] : {std::pair{&a.q, 0.0}, {&a.k, -5.0}, {&a.v, -7.0}, {&a.bias, 0.0}, {&a.sink, 0.0}})
    to->fill([value = value](int64_t) { return value; });
  dout.fill([](int64_t i) { return 3 + i; });
  Array out = dout;
  out.fill([](int64_t) { return -3.5; });
  const Bounds b = bounds_of(p.c(), a, &dout, &out);
  const double of_lse = 4 * (1 + 2 * std::log(2)), hypotenuse = 7 * 5, terms = 4 * 0.25 * 7 * (3 + 4);
  EXPECT_NEAR(b.at("dsink")[0] / kUnit, (of_lse / 4 + 8 / 2.0) * hypotenuse + terms, 1e-3);
  EXPECT_NEAR(b.at("dbias")[0] / kUnit, std::hypot(of_lse / 4 + 8 / 2.0, 8 / 2.0) * hypotenuse + terms, 1e-3);
}

Array fp16_of(const std::vector<double>& values) {
  Array a(kFp16, {static_cast<int64_t>(values.size())});
  a.fill([&](int64_t i) { return values[static_cast<size_t>(i)]; });
  return a;
}

Array fp64_of(const std::vector<double>& values) {
  Array a(kFp64, {static_cast<int64_t>(values.size())});
  a.fill([&](int64_t i) { return values[static_cast<size_t>(i)]; });
  return a;
}

// The measure of x, where the rule allows an error of two: the plain formula's error is one.
Measure measured(const std::vector<double>& x, const std::vector<double>& exact) {
  return measure("out", fp16_of(x), fp16_of({exact[0] + 1, exact[1]}), fp64_of(exact), {{"out", {1, 1}}});
}

TEST(Rule, AllowsTwiceThePlainError) {
  const Measure m = measured({5, -8}, {4, -8});
  EXPECT_EQ(m.error, 1);
  EXPECT_EQ(m.allowance, 2);
  EXPECT_TRUE(m.ok());
  EXPECT_EQ(m.ratio(), 0.5);
  EXPECT_FALSE(measured({4, -10.5}, {4, -8}).ok());
  EXPECT_EQ(measure("lse", fp16_of({4}), fp16_of({5}), fp64_of({4}), {{"lse", {1}}}).allowance, 2 + 1e-6);
}

// X64 is 0 and 8, of sums that may lose 3 and 0.5.
Measure of_own(const std::vector<double>& x, double plain_error) {
  return measure("out", fp16_of(x), fp16_of({plain_error, 8}), fp64_of({0, 8}), {{"out", {3, 0.5}}});
}

TEST(Rule, AllowsAnElementWhatItsOwnSumsMayLose) {
  EXPECT_TRUE(of_own({3, 8}, 0).ok());
  EXPECT_EQ(of_own({3, 8}, 0).allowance, 3 * (1 + 0x1p-11));  // and it is rounded
  EXPECT_FALSE(of_own({4, 8}, 0).ok());
  EXPECT_TRUE(of_own({0, 8.5}, 0).ok());
  EXPECT_EQ(of_own({0, 8.5}, 0).allowance, 0.5 + 8.5 * 0x1p-11);
  EXPECT_FALSE(of_own({0, 9}, 0).ok());  // the other's sums excuse nothing
}

TEST(Rule, AllowsAnElementNoMoreThanFourTimesItsOwn) {
  EXPECT_TRUE(of_own({12, 10}, 1000).ok());
  EXPECT_EQ(of_own({12, 8}, 1000).allowance, 4 * 3 * (1 + 0x1p-11));
  EXPECT_EQ(of_own({0, 10}, 1000).allowance, 4 * (0.5 + 8.5 * 0x1p-11));
  EXPECT_FALSE(of_own({0, 10.5}, 1000).ok());
  EXPECT_EQ(of_own({0, 9}, 0.5).allowance, 1);  // twice the plain formula's error
}

TEST(Rule, NanAndInfinitiesStayInTheirPlaces) {
  EXPECT_TRUE(measured({4, INFINITY}, {4, INFINITY}).ok());
  EXPECT_TRUE(measured({4, NAN}, {4, NAN}).ok());
  for (const double wrong : {7.0, -static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    const Measure m = measured({4, wrong}, {4, INFINITY});
    EXPECT_FALSE(m.ok()) << wrong;
    EXPECT_EQ(m.misplaced, 1) << wrong;
  }
  EXPECT_FALSE(measured({4, INFINITY}, {4, 7}).ok());
  EXPECT_FALSE(measured({4, NAN}, {4, 7}).ok());
  // Even if the plain formula fails too, a misplaced NaN is an error.
  EXPECT_FALSE(measure("out", fp16_of({4, NAN}), fp16_of({4, NAN}), fp64_of({4, 7}), {{"out", {1, 1}}}).ok());
}

TEST(Rule, BeyondTheTypesRangeItsInfinityAndItsLargestValueAreOne) {
  EXPECT_TRUE(measured({4, INFINITY}, {4, 1e6}).ok());
  EXPECT_TRUE(measured({4, 65504}, {4, 1e6}).ok());
  EXPECT_TRUE(measured({4, -INFINITY}, {4, -65510}).ok());
  for (const double wrong : {60000.0, -static_cast<double>(INFINITY), static_cast<double>(NAN)})
    EXPECT_FALSE(measured({4, wrong}, {4, 1e6}).ok()) << wrong;
  EXPECT_FALSE(measured({4, INFINITY}, {4, 65000}).ok());
}

TEST(Rule, NothingIsWrittenBetweenRows) {
  Array padded(kFp16, {1, 2, 1, 2}, Layout::padded);
  padded.fill([](int64_t) { return 1; });
  const Array plain = padded, exact = padded.converted(kFp64);
  EXPECT_TRUE(measure("out", padded, plain, exact, {{"out", {1, 1, 1, 1}}}).ok());
  std::fill_n(padded.data(), padded.bytes(), std::byte{0});
  padded.fill([](int64_t) { return 1; });
  EXPECT_FALSE(measure("out", padded, plain, exact, {{"out", {1, 1, 1, 1}}}).ok());
}

}  // namespace
}  // namespace rapt::cli
