// Every case of the table on every backend for CPU tensors, forward and all gradients, compared with the math backend
// in float64 by the rule of docs/architecture.md.
#include <gtest/gtest.h>

#include "support/allowance.hpp"
#include "support/cases.hpp"

namespace test {

namespace {

class Correctness : public testing::TestWithParam<Case> {};

void check(const Oracle& oracle, const Inputs& inputs, const How& how) {
  Results results = make_results(inputs, how.layout, differentiable(inputs));
  const std::string where = how.backend + ", " + inputs.problem.text + ", ";
  ASSERT_EQ(forward(inputs, results, how), RAPT_OK) << where << rapt_last_error();
  if (results.dq) {
    EXPECT_EQ(backward(inputs, results, how), RAPT_OK) << where << rapt_last_error();
  }
  for (const Measure& m : oracle.measure(results)) EXPECT_TRUE(m.ok()) << where << m.text();
}

TEST_P(Correctness, EveryBackendMeetsTheRule) {
  const Case& c = GetParam();
  const Problem problem(c.problem);
  const Inputs inputs = make_inputs(problem, c.kind, c.layout);
  const Oracle oracle(inputs);
  for (const std::string& backend : backends(problem)) {
    std::string reason;
    EXPECT_TRUE(takes(backend, problem, RAPT_FORWARD, &reason))
        << backend << " refuses " << c.problem << ": " << reason;
    check(oracle, inputs, {.backend = backend, .layout = c.layout, .given = &oracle.plain()});
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) { return name_of(info.param); }

INSTANTIATE_TEST_SUITE_P(Suite, Correctness, testing::ValuesIn(cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Nightly, Correctness, testing::ValuesIn(nightly_cases()), case_name);

// Sums over long rows, with one set of inputs after another: a backend that loses too many bits still meets the rule
// with nine sets in ten.
struct Seeds {
  uint64_t first, last;
};
void PrintTo(const Seeds& seeds, std::ostream* out) { *out << "seeds " << seeds.first << " to " << seeds.last; }

class LongRows : public testing::TestWithParam<std::tuple<const char*, Seeds>> {};

TEST_P(LongRows, MeetTheRuleForEverySeed) {
  const auto& [text, seeds] = GetParam();
  const Problem problem(text);
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Inputs inputs = make_inputs(problem, Kind::normal, Layout::padded, seed);
    const Oracle oracle(inputs);
    for (const std::string& backend : backends(problem))
      check(oracle, inputs, {.backend = backend, .layout = Layout::padded, .given = &oracle.plain()});
  }
}

const char* const kLongRows[] = {
    "b1 hq1 hk1 sq70 sk90 d512 fp32", "b1 hq1 hk1 sq71 sk89 d448 fp32", "b1 hq1 hk1 sq67 sk91 d384 fp32",
    "b2 hq8 hk1 sq2 sk91 d512 fp32",  "b1 hq1 hk1 sq70 sk90 d512 bf16", "b2 hq128 hk1 sq1 sk91 d576 dv512 fp32",
};

INSTANTIATE_TEST_SUITE_P(Suite, LongRows,
                         testing::Combine(testing::ValuesIn(kLongRows), testing::Values(Seeds{29, 42})));
INSTANTIATE_TEST_SUITE_P(Nightly, LongRows,
                         testing::Combine(testing::ValuesIn(kLongRows), testing::Values(Seeds{1, 200})));

// These problems failed by 3 to 25 % while float64's gradients always used float64's out; `rapt verify --seed` repeats
// them.
TEST(Gradients, AreNotBlamedForTheRoundingOfOut) {
  const std::tuple<const char*, Kind, uint64_t> all[] = {
      {"b2 hq4 hk2 sq37 sk45 d16 bf16", Kind::outliers, 69},
      {"b2 hq4 hk2 sq37 sk45 d16 bf16", Kind::outliers, 116},
      {"b2 hq4 hk2 sq37 sk45 d16 fp16", Kind::normal, 39},
      {"b2 hq4 hk2 sq37 sk45 d16 fp16", Kind::normal, 171},
  };
  for (const auto& [text, kind, seed] : all) {
    const Inputs inputs = make_inputs(Problem(text), kind, Layout::compact, seed);
    const Oracle oracle(inputs);
    for (const std::string& backend : backends(inputs.problem))
      check(oracle, inputs, {.backend = backend, .given = &oracle.plain()});
  }
}

// dQ and dK of a row that attends one key are 0. Out is rounded after dropout scales it, so dP - delta is not exactly
// 0. If only a few rows attend a key, that error broke the rule for one set of inputs in eight.
TEST(Gradients, OfRowsThatAttendOneKeyMeetTheRuleUnderDropout) {
  for (const char* text :
       {"b2 hq8 hk4 sq130 sk1 d128 fp32 causal drop=0.25", "b1 hq2 hk1 sq19 sk19 d128 fp32 window=0,0 drop=0.1",
        "b2 hq8 hk4 sq131 sk1 d64 bf16 causal drop=0.25", "b1 hq8 hk4 sq19 sk19 d32 fp32 window=0,0 sink drop=0.1"})
    for (uint64_t seed = 1; seed <= 25; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const Inputs inputs = make_inputs(Problem(text), Kind::outliers, Layout::compact, seed);
      const Oracle oracle(inputs);
      for (const std::string& backend : backends(inputs.problem))
        check(oracle, inputs, {.backend = backend, .given = &oracle.plain()});
    }
}

// A float32 sum of products far above the cap loses much of the few logits that are not at the cap.
TEST(Softcap, FarBelowTheProductsMeetsTheRule) {
  for (const char* text : {"b1 hq2 hk1 sq65 sk63 d329 fp32 softcap=6", "b1 hq2 hk1 sq65 sk63 d64 bf16 softcap=6",
                           "b1 hq4 hk1 sq2 sk300 d128 fp32 softcap=6"})
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const Inputs inputs = make_inputs(Problem(text), Kind::large, Layout::compact, seed);
      const Oracle oracle(inputs);
      for (const std::string& backend : backends(inputs.problem))
        if (backend != "math") check(oracle, inputs, {.backend = backend, .given = &oracle.given()});
    }
}

// Times log2(e), such a sink is not in float32's range. It takes all weight of its rows, or none.
TEST(Sinks, OfTheLargestFloatsMeetTheRule) {
  for (const char* text : {"b2 hq4 hk2 sq70 sk90 d64 fp32 sink", "b1 hq4 hk2 sq1 sk300 d64 bf16 sink",
                           "b1 hq4 hk2 sq33 sk65 d64 fp32 causal-tl sink", "b1 hq4 hk4 sq2 sk5000 d64 fp32 sink"}) {
    Inputs inputs = make_inputs(Problem(text));
    inputs.sink.fill([](int64_t head) { return head == 0 ? 3e38 : head == 1 ? -3e38 : 1; });
    const Oracle oracle(inputs);
    for (const std::string& backend : backends(inputs.problem))
      check(oracle, inputs, {.backend = backend, .given = &oracle.given()});
  }
}

// fp16's gradients of such inputs are beyond its range. Logits of 2e9 have once left every row empty.
TEST(Forward, OfHugeLogitsMeetsTheRule) {
  for (const char* text : {"b1 hq4 hk2 sq64 sk64 d128 fp16", "b1 hq4 hk2 sq33 sk300 d64 fp16 causal",
                           "b1 hq4 hk2 sq1 sk300 d64 fp16", "b1 hq4 hk2 sq64 sk64 d128 fp16 scale=-0.1"}) {
    const Inputs inputs = make_inputs(Problem(text), Kind::huge);
    const Oracle oracle(inputs);
    for (const std::string& backend : backends(inputs.problem)) {
      Results results = make_results(inputs, Layout::compact, false);
      ASSERT_EQ(forward(inputs, results, {.backend = backend, .backward = false}), RAPT_OK) << rapt_last_error();
      for (const Measure& m : oracle.measure(results))
        EXPECT_TRUE(m.ok()) << backend << ", " << text << ", " << m.text();
    }
  }
}

TEST(Gradients, OffByAHundredthOrInBf16ATwentiethMissTheRule) {
  for (const char* type : {"fp32", "bf16", "fp16"})
    for (const Kind kind : {Kind::normal, Kind::outliers}) {
      const Inputs inputs = make_inputs(Problem("b2 hq4 hk2 sq37 sk45 d64 " + std::string(type)), kind);
      const Oracle oracle(inputs);
      const double off = inputs.problem.c.dtype.code == RAPT_BFLOAT ? 1.05 : 1.01;
      for (Tensor Results::* gradient : {&Results::dq, &Results::dk, &Results::dv}) {
        Results wrong = oracle.plain();
        (wrong.*gradient).fill([&](int64_t i) { return off * (oracle.plain().*gradient).at(i); });
        int missed = 0;
        for (const Measure& m : oracle.measure(wrong)) missed += !m.ok();
        EXPECT_EQ(missed, 1) << inputs.problem.text;
      }
    }
}

}  // namespace

}  // namespace test
