// The math backend against itself. Gradients are compared with finite differences of the forward pass in float64. The
// plain formula in each type is compared with float64, because it is a reference too. oracle.py compares it with an
// independent computation.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support/allowance.hpp"
#include "support/cases.hpp"

namespace test {

namespace {

std::string case_name(const testing::TestParamInfo<Case>& info) { return name_of(info.param); }

bool poisoned(const Case& c) { return c.kind == Kind::poison_seen || c.kind == Kind::poison_unseen; }

class Gradients : public testing::TestWithParam<Case> {};

double inner(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.count(); ++i) sum += a.at(i) * b.at(i);
  return sum;
}

double loss(const Inputs& inputs) { return inner(run(inputs, {.backward = false}).out, inputs.dout); }

// The derivative of loss along a random direction of one input, by a central difference of fourth order.
double derivative(const Inputs& inputs, Tensor Inputs::* input, const Tensor& direction, double step) {
  const auto at = [&](double factor) {
    Inputs moved = inputs;
    (moved.*input).fill([&](int64_t i) { return (inputs.*input).at(i) + factor * step * direction.at(i); });
    return loss(moved);
  };
  return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
}

TEST_P(Gradients, AreTheDerivativesOfTheForwardPass) {
  const Case& c = GetParam();
  const Inputs inputs = make_inputs(Problem(c.problem), c.kind, c.layout);
  const Results results = run(inputs, How{});
  const std::tuple<const char*, Tensor Inputs::*, const Tensor*> pairs[] = {
      {"dq", &Inputs::q, &results.dq},          {"dk", &Inputs::k, &results.dk},
      {"dv", &Inputs::v, &results.dv},          {"dbias", &Inputs::bias, &results.dbias},
      {"dsink", &Inputs::sink, &results.dsink},
  };
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const auto& [name, input, gradient] : pairs) {
    if (!*gradient) continue;
    for (int direction_number = 0; direction_number < 3; ++direction_number) {
      Tensor direction = *gradient;
      double norm = 0;
      direction.fill([&](int64_t i) {
        if (std::isinf((inputs.*input).at(i))) return 0.0;
        const double x = normal(random);
        norm += x * x;
        return x;
      });
      const double measured = derivative(inputs, input, direction, 1e-3 / std::sqrt(1 + norm));
      const double scale = std::sqrt(inner(*gradient, *gradient) * inner(direction, direction));
      EXPECT_NEAR(inner(*gradient, direction), measured, 1e-8 * (scale + std::fabs(loss(inputs)))) << name;
    }
  }
}

std::vector<Case> smooth_cases() {
  std::vector<Case> all;
  for (const Case& c : option_cases("fp64"))
    // Logits of 1e4 make the loss a staircase that no difference quotient resolves.
    if (Problem(c.problem).c.page == 0 && !poisoned(c) && c.kind != Kind::large) all.push_back(c);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Options, Gradients, testing::ValuesIn(smooth_cases()), case_name);

// A defect in the math backend's own types would widen every allowance, so the plain formula's error is bounded.
// Without outliers the bound is the type's unit times a small number.
class Plain : public testing::TestWithParam<std::string> {};

TEST_P(Plain, LosesLittleMoreThanItsTypeMust) {
  const double unit = GetParam() == "fp32" ? 0x1p-24 : GetParam() == "fp16" ? 0x1p-11 : 0x1p-8;
  for (const Case& c : option_cases(GetParam())) {
    if (poisoned(c) || c.kind == Kind::outliers || c.kind == Kind::large || c.kind == Kind::hostile_bias) continue;
    const Inputs inputs = make_inputs(Problem(c.problem), c.kind, c.layout);
    const Oracle oracle(inputs);
    double of_logits = 0;
    for (const double x : oracle.bounds().at("lse")) of_logits = std::max(of_logits, x);
    const auto exact = oracle.exact().named();
    const auto measures = oracle.measure(oracle.plain());
    for (size_t t = 0; t < measures.size(); ++t) {
      double largest = 1;
      for (double x : exact[t].second->values())
        if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
      const double of_type = measures[t].tensor == "lse" ? 0x1p-24 : unit;
      EXPECT_LE(measures[t].error, (8 * of_type + of_logits) * largest) << c.problem << ", " << measures[t].text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Plain, testing::Values("fp32", "bf16", "fp16"),
                         [](const auto& info) { return info.param; });

TEST(Math, LseOf65536KeysIsExactToFloat32) {
  for (const char* text : {"b1 hq1 hk1 sq2 sk65536 d8 fp32", "b1 hq1 hk1 sq2 sk65536 d8 fp32 scale=0"}) {
    const Inputs inputs = make_inputs(Problem(text));
    const Oracle oracle(inputs);
    for (int64_t i = 0; i < 2; ++i) {
      const double exact = oracle.exact().lse.at(i);
      EXPECT_NEAR(oracle.plain().lse.at(i), exact, 2e-7 + 0x1p-24 * std::fabs(exact)) << text;
    }
  }
}

TEST(Math, RowsWithNothingToAttend) {
  const Problem problem("b1 hq2 hk1 sq5 sk3 d4 fp32 causal");
  const Results r = run(make_inputs(problem), How{});
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t i = 0; i < 2; ++i) {
      EXPECT_EQ(r.lse.at(h * 5 + i), -INFINITY);
      for (int64_t x = 0; x < 4; ++x) {
        EXPECT_EQ(r.out.at((i * 2 + h) * 4 + x), 0);
        EXPECT_EQ(r.dq.at((i * 2 + h) * 4 + x), 0);
      }
    }
}

TEST(Math, LseOfASinkAlone) {
  const Inputs inputs = make_inputs(Problem("b1 hq2 hk1 sq3 sk0 d4 fp32 sink"));
  const Results r = run(inputs, How{});
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(static_cast<float>(r.lse.at(i)), static_cast<float>(inputs.sink.at(i / 3)));
  EXPECT_EQ(r.dsink.at(0), 0);
}

}  // namespace

}  // namespace test
