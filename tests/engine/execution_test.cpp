// How a call runs: workspace, requested results, explanations.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include "support/allowance.hpp"
#include "support/least_bias.hpp"

namespace test {

namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};

// A workspace of exactly the requested bytes, so that AddressSanitizer sees an access past them.
std::unique_ptr<void, Free> aligned(size_t bytes) {
  void* p = nullptr;
  if (posix_memalign(&p, 64, bytes) != 0) p = nullptr;
  return std::unique_ptr<void, Free>(p);
}

TEST(Execution, TheCallersWorkspaceIsEnough) {
  for (const char* text : {"b2 hq4 hk2 sq70 sk90 d33 fp32 causal", "b1 hq4 hk2 sq1 sk700 d64 bf16",
                           "b1 hq2 hk2 sq33 sk50 d16 fp16 bias=b1h1 softcap=9 sink"}) {
    const Inputs inputs = make_inputs(Problem(text));
    for (const std::string& backend : backends(inputs.problem)) {
      const Results own = run(inputs, {.backend = backend});
      Results results = make_results(inputs, Layout::compact, true);
      Attention attention(inputs);
      auto execution = init<rapt_execution>();
      execution.backend = backend.c_str();
      auto forward = init<rapt_forward_call>();
      forward.attention = &attention.c;
      forward.out = attention.hold(results.out);
      forward.lse = attention.hold(results.lse);
      forward.execution = &execution;
      size_t bytes = 0;
      ASSERT_EQ(rapt_workspace_size(&forward, nullptr, &bytes), RAPT_OK) << rapt_last_error();
      const auto of_forward = aligned(bytes);
      execution.workspace = of_forward.get();
      execution.workspace_size = bytes;
      ASSERT_EQ(rapt_forward(&forward), RAPT_OK) << rapt_last_error();

      auto backward = init<rapt_backward_call>();
      backward.attention = &attention.c;
      backward.out = forward.out;
      backward.lse = forward.lse;
      backward.dout = attention.hold(inputs.dout);
      backward.dq = attention.hold(results.dq);
      backward.dk = attention.hold(results.dk);
      backward.dv = attention.hold(results.dv);
      backward.dbias = attention.hold(results.dbias);
      backward.dsink = attention.hold(results.dsink);
      backward.execution = &execution;
      ASSERT_EQ(rapt_workspace_size(nullptr, &backward, &bytes), RAPT_OK) << rapt_last_error();
      const auto of_backward = aligned(bytes);
      execution.workspace = of_backward.get();
      execution.workspace_size = bytes;
      ASSERT_EQ(rapt_backward(&backward), RAPT_OK) << rapt_last_error();
      const auto x = own.named(), y = results.named();
      for (size_t t = 0; t < x.size(); ++t)
        EXPECT_TRUE(same_elements(*x[t].second, *y[t].second)) << backend << ", " << text << ", " << x[t].first;
    }
  }
}

// Any single gradient meets the rule, and results that are not requested are not needed.
TEST(Execution, EachGradientAlone) {
  const Inputs inputs = make_inputs(Problem("b2 hq8 hk4 sq40 sk50 d24 fp32 causal bias=b1hN sink"));
  const Oracle oracle(inputs);
  Tensor Results::* const gradients[] = {&Results::dq, &Results::dk, &Results::dv, &Results::dbias, &Results::dsink};
  for (const std::string& backend : backends(inputs.problem))
    for (Tensor Results::* wanted : gradients) {
      Results results = make_results(inputs, Layout::compact, true);
      ASSERT_EQ(forward(inputs, results, {.backend = backend}), RAPT_OK) << rapt_last_error();
      Results one = results;
      for (Tensor Results::* gradient : gradients)
        if (gradient != wanted) one.*gradient = Tensor();
      ASSERT_EQ(backward(inputs, one, {.backend = backend, .given = &oracle.given()}), RAPT_OK) << rapt_last_error();
      results.*wanted = one.*wanted;
      const std::string name = one.named().back().first;
      for (const Measure& m : oracle.measure(results))
        EXPECT_TRUE(m.ok() || m.tensor != name) << backend << ", " << m.text();
    }
}

TEST(Execution, OutIsTheSameWithoutLse) {
  for (const char* text : {"b2 hq4 hk2 sq40 sk50 d24 fp32 causal", "b1 hq8 hk2 sq1 sk500 d64 bf16"}) {
    const Inputs inputs = make_inputs(Problem(text));
    for (const std::string& backend : backends(inputs.problem)) {
      const Results both = run(inputs, {.backend = backend, .backward = false});
      Results out_alone = make_results(inputs, Layout::compact, false);
      out_alone.lse = Tensor();
      ASSERT_EQ(forward(inputs, out_alone, {.backend = backend}), RAPT_OK) << rapt_last_error();
      EXPECT_TRUE(same_elements(out_alone.out, both.out)) << backend;
    }
  }
}

TEST(Execution, ABiasOfFloatsLeast) {
  for (const char* text :
       {"b1 hq4 hk2 sq40 sk300 d24 fp32 bias=b1h1", "b1 hq4 hk2 sq40 sk300 d24 bf16 causal bias=b1h1",
        "b1 hq2 hk1 sq1 sk700 d64 fp16 bias=b1h1", "b1 hq8 hk2 sq3 sk700 d64 fp32 bias=b1h1 softcap=9"}) {
    const LeastBias least(text);
    for (const std::string& backend : backends(least.inputs.problem)) {
      SCOPED_TRACE(backend + ", " + text);
      Results results = run(least.inputs, {.backend = backend});
      const Results expected = run(least.like, {.backend = backend});
      least.check_lse(results, expected);
      const auto x = results.named(), y = expected.named();
      for (size_t t = 0; t < x.size(); ++t) EXPECT_TRUE(same_elements(*x[t].second, *y[t].second)) << x[t].first;
    }
  }
}

TEST(Explain, OneCandidateIsChosenAndEveryOtherHasAReason) {
  for (const char* text : {"b2 hq8 hk2 sq1000 sk1000 d128 bf16 causal", "b1 hq1 hk1 sq3 sk3 d4 fp64"})
    for (rapt_op op : {RAPT_FORWARD, RAPT_BACKWARD}) {
      const Problem problem(text);
      rapt_explanation* explanation = nullptr;
      ASSERT_EQ(rapt_explain_problem(&problem.c, op, {RAPT_CPU, 0}, nullptr, &explanation), RAPT_OK)
          << rapt_last_error();
      EXPECT_STREQ(rapt_explanation_problem(explanation), text);
      int chosen = 0;
      std::set<std::string> names;
      for (size_t i = 0; i < rapt_explanation_count(explanation); ++i) {
        const rapt_candidate candidate = rapt_explanation_candidate(explanation, i);
        chosen += candidate.chosen;
        names.insert(candidate.backend);
        EXPECT_STRNE(candidate.reason, "") << candidate.backend;
      }
      EXPECT_EQ(chosen, 1) << text;
      for (const std::string& backend : backends(problem)) EXPECT_TRUE(names.count(backend)) << backend;
      rapt_explanation_free(explanation);
    }
}

TEST(Explain, ACallIsExplainedWithoutBeingRun) {
  const Inputs inputs = make_inputs(Problem("b2 hq4 hk2 sq5 sk7 d8 fp32 causal window=3,0"));
  Results results = make_results(inputs, Layout::compact, false);
  const auto before = results.out.memory();
  Attention attention(inputs);
  auto call = init<rapt_forward_call>();
  call.attention = &attention.c;
  call.out = attention.hold(results.out);
  rapt_explanation* explanation = nullptr;
  ASSERT_EQ(rapt_explain(&call, nullptr, &explanation), RAPT_OK) << rapt_last_error();
  EXPECT_EQ(rapt_explanation_problem(explanation), inputs.problem.text);
  rapt_explanation_free(explanation);
  EXPECT_EQ(results.out.memory(), before);
}

TEST(Explain, MathIsNotChosenForALargeProblemUnlessAllowed) {
  const Problem problem("b8 hq32 hk32 sq4096 sk4096 d128 fp64");
  auto execution = init<rapt_execution>();
  rapt_explanation* explanation = nullptr;
  for (int32_t allowed : {0, 1}) {
    execution.allow_math = allowed;
    ASSERT_EQ(rapt_explain_problem(&problem.c, RAPT_FORWARD, {RAPT_CPU, 0}, &execution, &explanation), RAPT_OK);
    for (size_t i = 0; i < rapt_explanation_count(explanation); ++i) {
      const rapt_candidate candidate = rapt_explanation_candidate(explanation, i);
      EXPECT_EQ(candidate.chosen, std::string(candidate.backend) == "math" ? allowed : 0) << candidate.backend;
    }
    rapt_explanation_free(explanation);
  }
}

TEST(CpuTiers, TheLastIsPortableAndRunsEverywhere) {
  std::string last;
  int32_t available = 0;
  for (size_t i = 0; const char* tier = rapt_cpu_tier(i, &available); ++i) last = tier;
  EXPECT_EQ(last, "portable");
  EXPECT_EQ(available, 1);
}

}  // namespace

}  // namespace test
