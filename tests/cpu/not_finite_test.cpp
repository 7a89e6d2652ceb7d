// Inf and NaN anywhere in q, k, v, dout and sinks reach exactly the results that they reach in float64: through
// softmax, through logits of -Inf, past masks, in rows without keys.
#include <gtest/gtest.h>

#include <random>

#include "support/allowance.hpp"

namespace test {

namespace {

class NotFinite : public testing::TestWithParam<std::string> {};

std::string random_problem(std::mt19937& random, const std::string& type) {
  const auto from = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[random() % all.size()]);
  };
  const std::string heads = from({"hq1 hk1", "hq4 hk2", "hq8 hk1"}), sq = from({"1", "2", "17", "33", "64", "130"}),
                    sk = from({"1", "5", "31", "64", "129", "200"}), dim = from({"16", "40", "64", "128"});
  return "b2 " + heads + " sq" + sq + " sk" + sk + " d" + dim + " " + type + from({"", "", " causal", " window=9,3"}) +
         from({"", "", " bias=b1h1", " bias=b1hN softcap=5", " alibi"}) + from({"", " mask=bNh1"}) +
         from({"", "", " sink"}) + from({"", "", " drop=0.4"});
}

// Puts Inf and NaN into some elements, or into whole rows.
void spoil(std::mt19937& random, Tensor& t) {
  const double values[] = {INFINITY, -INFINITY, std::nan("")};
  const int64_t row = t.shape().back();
  for (int n = static_cast<int>(random() % 3); n > 0; --n) {
    const int64_t at = static_cast<int64_t>(random()) % t.count();
    const double value = values[random() % 3];
    t.set(at, value);
    if (random() % 4 == 0)
      for (int64_t x = at - at % row; x < at - at % row + row; ++x) t.set(x, value);
  }
}

TEST_P(NotFinite, IsWhereFloat64HasIt) {
  std::mt19937 random(5);
  for (int i = 0; i < 80; ++i) {
    const Problem problem(random_problem(random, GetParam()));
    Inputs inputs = make_inputs(problem, Kind::normal, Layout::compact, random());
    for (Tensor* t : {&inputs.q, &inputs.k, &inputs.v, &inputs.dout}) spoil(random, *t);
    const double sinks[] = {-INFINITY, INFINITY, std::nan("")};
    if (problem.c.has_sink && random() % 2 == 0) inputs.sink.set(0, sinks[random() % 3]);
    const Oracle oracle(inputs);
    for (const std::string& backend : backends(problem)) {
      if (backend == "math") continue;
      const Results results = run(inputs, {.backend = backend, .given = &oracle.given()});
      for (const Measure& m : oracle.measure(results))
        EXPECT_EQ(m.misplaced, 0) << backend << ", " << problem.text << ", " << m.text();
    }
  }
}

// Blocks of queries, decode, and decode in splits. Half of the rows of the first problem have no key, by the window.
const char* const kSinks[] = {"b1 hq2 hk1 sq40 sk20 d16 fp32 window=30,0 sink",
                              "b1 hq2 hk1 sq9 sk20 d16 bf16 mask=b1h1 sink", "b1 hq2 hk1 sq1 sk5000 d16 fp16 sink"};

// True if this row attends a key; odd queries have none where there is a mask.
bool has_keys(const Inputs& in, int64_t query) {
  if (in.mask) return query % 2 == 0;
  return !in.problem.c.has_window || query >= in.problem.c.seqlen_q - in.problem.c.seqlen_k;
}

TEST(Sink, OfInfLeavesKeysNoWeightAndOfNaNMakesThemNaN) {
  for (const char* text : kSinks)
    for (const double sink : {double{INFINITY}, std::nan("")}) {
      Inputs inputs = make_inputs(Problem(text));
      inputs.sink.fill([&](int64_t) { return sink; });
      if (inputs.mask) inputs.mask.fill([&](int64_t i) { return i / inputs.problem.c.seqlen_k % 2 == 0; });
      for (const std::string& backend : backends(inputs.problem)) {
        const Results results = run(inputs, {.backend = backend, .backward = false});
        const int64_t row = 2 * 16;  // heads times head_dim
        for (int64_t i = 0; i < results.out.count(); ++i) {
          const bool is_nan = std::isnan(sink) && has_keys(inputs, i / row);
          const double out = results.out.at(i);
          EXPECT_TRUE(is_nan ? std::isnan(out) : out == 0) << backend << ", " << text << ", " << sink << ", " << i;
        }
        for (int64_t i = 0; i < results.lse.count(); ++i) {
          const double lse = results.lse.at(i);
          EXPECT_TRUE(std::isnan(sink) ? std::isnan(lse) : lse == sink) << backend << ", " << text << ", " << i;
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, NotFinite, testing::Values("fp32", "bf16", "fp16"),
                         [](const auto& type) { return type.param; });

}  // namespace

}  // namespace test
