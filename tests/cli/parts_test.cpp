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

TEST(Bounds, LargestLogitFollowsMasksAndCaps) {
  const auto largest = [](const char* text, double sink = -50) {
    const Problem p = Problem::parse(text);
    Attention a = make_inputs(p, InputKind::normal, 1);
    const int64_t keys = a.k.count() / a.head_dim();
    for (int64_t i = 0; i < a.q.count(); ++i) a.q.set(i, 1);
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t c = 0; c < a.head_dim(); ++c) a.k.set(j * a.head_dim() + c, static_cast<double>(j));
    if (a.sink) a.sink.set(0, sink);
    if (a.bias) a.bias.fill([](int64_t j) { return j == 2 ? -1e9 : 0; });
    return bounds_of(p.c(), a, nullptr).largest_logit;
  };
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq3 sk5 d4 fp64"), 4 * 4 / 2.0);
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq3 sk5 d4 fp64 causal-tl"), 2 * 4 / 2.0);
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq3 sk5 d4 fp64 scale=-1"), 16);
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq3 sk5 d4 fp64 softcap=2"), 2 * std::tanh(4));
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq3 sk5 d4 fp64 sink"), 50);
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq5 sk5 d4 fp64 window=0,0"), 8);
  // Where a weight is exactly 0, a bias does not count, nor does a sink; the product does.
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq3 sk5 d4 fp64 scale=-100 bias=b1h1q1"), 1600);
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq3 sk5 d4 fp64 bias=b1h1q1"), 8);
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq3 sk5 d4 fp64 sink", -120), 8);
  EXPECT_DOUBLE_EQ(largest("b1 hq1 hk1 sq3 sk5 d4 fp64 sink", 120), 120);
}

TEST(Bounds, RowsWithNanDoNotCount) {
  const Problem p = Problem::parse("b1 hq1 hk1 sq3 sk5 d1 fp64 causal-tl");
  Attention a = make_inputs(p, InputKind::normal, 1);
  a.q.fill([](int64_t) { return 1e9; });
  a.k.fill([](int64_t j) { return j == 2 ? NAN : j + 1; });
  EXPECT_DOUBLE_EQ(bounds_of(p.c(), a, nullptr).largest_logit, 2e9);
  a.k.set(2, INFINITY);
  EXPECT_DOUBLE_EQ(bounds_of(p.c(), a, nullptr).largest_logit, 2e9);
}

TEST(Bounds, VagueRowsAreInTheOrderOfLse) {
  const auto of = [](const char* text, double others) {
    const Problem p = Problem::parse(text);
    Attention a = make_inputs(p, InputKind::normal, 1);
    a.k.fill([](int64_t) { return 1; });
    a.q.fill([&](int64_t i) { return i == 5 ? 1e9 : others; });
    return bounds_of(p.c(), a, nullptr);
  };
  const Bounds dense = of("b2 hq2 hk1 sq3 sk2 d1 fp64", 3), packed = of("b2 hq2 hk1 sq3 sk2 d1 fp64 varlen=1:2,3:2", 3);
  EXPECT_EQ(dense.vague_rows, (std::vector<bool>{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(packed.vague_rows, (std::vector<bool>{0, 0, 0, 0, 0, 0, 1, 0}));
  for (const Bounds& b : {dense, packed}) {
    EXPECT_EQ(b.clear_logit, 3);
    EXPECT_EQ(b.largest_logit, 1e9);
  }
  EXPECT_TRUE(of("b1 hq2 hk1 sq3 sk2 d1 fp64", 1e5 / 4).vague_rows.size() == 6);
}

TEST(Bounds, SpreadIsOfTheKeysThatCanHaveWeight) {
  const auto spread = [](const char* text, bool equal) {
    const Problem p = Problem::parse(text);
    Attention a = make_inputs(p, InputKind::normal, 1);
    a.q.fill([](int64_t) { return 1e5; });
    a.k.fill([&](int64_t j) { return j == 4 ? -1e5 : equal ? 1e5 : 1e5 * (1 + static_cast<double>(j) * 1e-9); });
    a.v.fill([](int64_t j) { return static_cast<double>(10 + j); });
    return bounds_of(p.c(), a, nullptr).spread;
  };
  EXPECT_EQ(spread("b1 hq1 hk1 sq1 sk5 d1 fp64", true), 0);
  EXPECT_EQ(spread("b1 hq1 hk1 sq1 sk5 d1 fp64", false), 3);  // key 4 cannot have weight
  EXPECT_EQ(spread("b1 hq1 hk1 sq1 sk5 d1 fp64 drop=0.5", false), 2 * 13);
  EXPECT_EQ(spread("b1 hq1 hk1 sq1 sk5 d1 fp64 scale=1e-06", false), 0);  // small logits
}

// One query and one key: dP has the term 2 * -7, and delta the same.
TEST(Bounds, CancelledAreTheTermsOfDPAndDelta) {
  const auto bounds = [](const char* text) {
    const Problem p = Problem::parse(text);
    Attention a = make_inputs(p, InputKind::normal, 1);
    Array dout = a.q;
    for (const auto& [to, value] : {std::pair{&a.q, 3.0}, {&a.k, -5.0}, {&a.v, -7.0}, {&dout, 2.0}})
      to->fill([value = value](int64_t) { return value; });
    if (a.sink) a.sink.set(0, -20);
    if (a.bias) a.bias.set(0, -5);
    return bounds_of(p.c(), a, &dout);  // needs none of these any more
  };
  const auto expect = [&](const char* text, Cancelled want) {
    const Cancelled c = bounds(text).cancelled();
    EXPECT_NEAR(c.dq, want.dq, 1e-12 * want.dq) << text;
    EXPECT_NEAR(c.dk, want.dk, 1e-12 * want.dk) << text;
    EXPECT_EQ(c.clear_dq, c.dq) << text;
  };
  expect("b1 hq1 hk1 sq1 sk1 d1 fp64", {.dq = 2 * 28 * 5, .dk = 2 * 28 * 3});
  expect("b1 hq1 hk1 sq1 sk1 d1 fp64 scale=2", {.dq = 4 * 28 * 5, .dk = 4 * 28 * 3});
  expect("b1 hq1 hk1 sq1 sk1 d1 fp64 varlen=1:1", {.dq = 2 * 28 * 5, .dk = 2 * 28 * 3});
  // The sink takes half of the weight, and so half of delta's term.
  expect("b1 hq1 hk1 sq1 sk1 d1 fp64 bias=b1h1 sink", {.dq = 21 * 5, .dk = 21 * 3});
  EXPECT_FALSE(bounds("b1 hq1 hk1 sq1 sk1 d1 fp64 drop=0.5").cancelled);
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

// Bounds that leave the roundoff of logits up to `largest_logit` as it is.
Bounds wide(double largest_logit) {
  Bounds b;
  b.largest_logit = largest_logit;
  return b;
}

// The measure of x, where the rule allows an error of two: the plain formula's error is one.
Measure measured(const std::vector<double>& x, const std::vector<double>& exact) {
  return measure("out", fp16_of(x), fp16_of({exact[0] + 1, exact[1]}), fp64_of(exact), wide(0));
}

TEST(Rule, AllowsTwiceThePlainErrorAndTheLogitsRoundoff) {
  const Measure m = measured({5, -8}, {4, -8});
  EXPECT_EQ(m.error, 1);
  EXPECT_EQ(m.allowance, 2 + 4 * 0x1p-24 * 8);
  EXPECT_TRUE(m.ok());
  EXPECT_EQ(m.ratio(), 1 / m.allowance);
  EXPECT_FALSE(measured({4, -10.5}, {4, -8}).ok());
  EXPECT_EQ(measure("lse", fp16_of({4}), fp16_of({5}), fp64_of({4}), wide(3)).allowance, 2 + (4 * 0x1p-24 * 4 + 1e-6));
}

TEST(Rule, LogitsAllowNoMoreThanWrongWeightsCould) {
  Bounds b = wide(1e11);
  b.spread = 3, b.dv = 5, b.dk = 0x1p125;
  const auto allowance = [&](const char* tensor) {
    return measure(tensor, fp16_of({8}), fp16_of({8}), fp64_of({8}), b).allowance;
  };
  EXPECT_EQ(allowance("out"), 8 / 16.0 + 3);
  EXPECT_EQ(allowance("dv"), 5);
  EXPECT_EQ(allowance("dq"), 8 / 16.0);
  EXPECT_EQ(allowance("dk"), 4 * 0x1p-24 * (1 + 1e11) * 8 + 0.5);  // weights below 2^-126 may be 0
}

TEST(Rule, SumsThatCancelMayLosePartsOfTheirTerms) {
  Bounds b = wide(0);
  b.cancelled = [] { return Cancelled{.dq = 3, .dk = 4}; };
  const auto allowance = [&](const char* tensor, double x) {
    return measure(tensor, fp16_of({x}), fp16_of({0}), fp64_of({0}), b).allowance * 0x1p24;
  };
  EXPECT_EQ(allowance("dq", 1), 3);
  EXPECT_EQ(allowance("dk", 1), 4);
  EXPECT_EQ(allowance("dk", 0), 0);  // where nothing else is allowed, and nothing needs to be
  for (const char* other : {"dbias", "dsink", "dv", "out"}) EXPECT_EQ(allowance(other, 1), 0) << other;
}

TEST(Rule, VagueRowsAllowNothingInOthers) {
  Bounds b = wide(1e11);
  b.spread = 3, b.vague_rows = {false, true, false, false};  // head 0, row 1
  const auto ok = [&](const char* tensor, std::vector<int64_t> shape, int64_t wrong) {
    Array exact(kFp64, shape), x(kFp16, shape);
    exact.fill([](int64_t) { return 8; });
    x.fill([&](int64_t i) { return i == wrong ? 9 : 8; });
    return measure(tensor, x, exact.converted(kFp16), exact, b).ok();
  };
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ok("out", {1, 2, 2, 1}, i), i == 2) << i;
    EXPECT_EQ(ok("dq", {2, 2, 1}, i), false) << i;  // of packed sequences; half of the value is too much in any row
    EXPECT_EQ(ok("lse", {1, 2, 2}, i), i == 1) << i;
    EXPECT_EQ(ok("dv", {1, 2, 2, 1}, i), false) << i;
  }
  b.dq = b.dv = 1;
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ok("dq", {2, 2, 1}, i), i == 2) << i;
    EXPECT_EQ(ok("dv", {1, 2, 2, 1}, i), true) << i;  // every row can add to it
  }
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
  EXPECT_FALSE(measure("out", fp16_of({4, NAN}), fp16_of({4, NAN}), fp64_of({4, 7}), wide(0)).ok());
}

TEST(Rule, BeyondTheTypesRangeItsInfinityAndItsLargestValueAreOne) {
  EXPECT_TRUE(measured({4, INFINITY}, {4, 1e6}).ok());
  EXPECT_TRUE(measured({4, 65504}, {4, 1e6}).ok());
  EXPECT_TRUE(measured({4, -INFINITY}, {4, -65510}).ok());
  EXPECT_EQ(measured({4, INFINITY}, {4, 1e6}).allowance, 2 + 4 * 0x1p-24 * 65504);
  for (const double wrong : {60000.0, -static_cast<double>(INFINITY), static_cast<double>(NAN)})
    EXPECT_FALSE(measured({4, wrong}, {4, 1e6}).ok()) << wrong;
  EXPECT_FALSE(measured({4, INFINITY}, {4, 65000}).ok());
}

TEST(Rule, NothingIsWrittenBetweenRows) {
  Array padded(kFp16, {1, 2, 1, 2}, Layout::padded);
  padded.fill([](int64_t) { return 1; });
  const Array plain = padded, exact = padded.converted(kFp64);
  EXPECT_TRUE(measure("out", padded, plain, exact, wide(0)).ok());
  std::fill_n(padded.data(), padded.bytes(), std::byte{0});
  padded.fill([](int64_t) { return 1; });
  EXPECT_FALSE(measure("out", padded, plain, exact, wide(0)).ok());
}

}  // namespace
}  // namespace rapt::cli
