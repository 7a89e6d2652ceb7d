// Every case of the table on every backend for CPU tensors, forward and all gradients, held against the math backend in
// float64 by the rule of docs/architecture.md.
#include <gtest/gtest.h>

#include "support/allowance.hpp"
#include "support/cases.hpp"

namespace test {

namespace {

class Correctness : public testing::TestWithParam<Case> {};

// The backward pass is a function of the out and lse it is given: every backend gets those of the plain formula, as the
// plain backward does, so that one rounding of a 16-bit out does not count as one backend's error and not the other's.
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

}  // namespace

}  // namespace test
