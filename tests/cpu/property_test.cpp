// Properties of attention that hold for any numbers: they need no oracle, or relate two different calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "support/allowance.hpp"

namespace test {

namespace {

void expect_rule(const Oracle& oracle, const Results& results, const std::string& what) {
  for (const Measure& m : oracle.measure(results)) EXPECT_TRUE(m.ok()) << what << ", " << m.text();
}

// Rows of [batch, seqlen, ...] tensors with one index along seqlen taken from another.
Tensor rows_from(const Tensor& t, const std::vector<int64_t>& source) {
  Tensor out(t.dtype(), {t.shape()[0], static_cast<int64_t>(source.size()), t.shape()[2], t.shape()[3]});
  const int64_t row = t.shape()[2] * t.shape()[3], rows = static_cast<int64_t>(source.size());
  out.fill([&](int64_t i) {
    const int64_t b = i / (rows * row), s = source[static_cast<size_t>(i / row % rows)];
    return t.at((b * t.shape()[1] + s) * row + i % row);
  });
  return out;
}

std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> all(static_cast<size_t>(end - begin));
  std::iota(all.begin(), all.end(), begin);
  return all;
}

class Property : public testing::TestWithParam<std::string> {
 protected:
  const std::string type_ = GetParam();
};

TEST_P(Property, PermutingKeysPermutesNothing) {
  const Problem problem("b2 hq4 hk2 sq37 sk150 d40 " + type_);
  const Inputs inputs = make_inputs(problem, Kind::outliers);
  const Oracle oracle(inputs);
  std::vector<int64_t> order = range(0, 150), back(150);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  for (int64_t j = 0; j < 150; ++j) back[static_cast<size_t>(order[static_cast<size_t>(j)])] = j;
  Inputs permuted = inputs;
  permuted.k = rows_from(inputs.k, order);
  permuted.v = rows_from(inputs.v, order);
  for (const std::string& backend : backends(problem)) {
    Results results = run(permuted, {.backend = backend, .given = &oracle.given()});
    results.dk = rows_from(results.dk, back);
    results.dv = rows_from(results.dv, back);
    expect_rule(oracle, results, backend);
  }
}

TEST_P(Property, PartsMergedByLseAreTheWhole) {
  const Problem whole("b2 hq4 hk2 sq9 sk200 d32 " + type_);
  const Inputs inputs = make_inputs(whole);
  const Oracle oracle(inputs);
  for (const std::string& backend : backends(whole)) {
    Results merged = make_results(inputs, Layout::compact, false);
    std::vector<Results> parts;
    for (const auto& [begin, end] : {std::pair{0, 67}, {67, 200}}) {
      Inputs part(Problem("b2 hq4 hk2 sq9 sk" + std::to_string(end - begin) + " d32 " + type_));
      part.q = inputs.q;
      part.k = rows_from(inputs.k, range(begin, end));
      part.v = rows_from(inputs.v, range(begin, end));
      parts.push_back(run(part, {.backend = backend, .backward = false}));
    }
    merged.lse.fill([&](int64_t i) {
      const double a = parts[0].lse.at(i), b = parts[1].lse.at(i), top = std::max(a, b);
      return top + std::log(std::exp(a - top) + std::exp(b - top));
    });
    merged.out.fill([&](int64_t i) {
      const int64_t row = i / 32, h = row % 4, s = row / 4 % 9, b = row / 36, lse = (b * 4 + h) * 9 + s;
      const double total = merged.lse.at(lse);
      return parts[0].out.at(i) * std::exp(parts[0].lse.at(lse) - total) +
             parts[1].out.at(i) * std::exp(parts[1].lse.at(lse) - total);
    });
    expect_rule(oracle, merged, backend);
  }
}

TEST_P(Property, AWindowOfTheWholeLengthIsNone) {
  const std::string sizes = "b1 hq2 hk2 sq70 sk90 d32 " + type_;
  const Inputs inputs = make_inputs(Problem(sizes));
  const Oracle oracle(inputs);
  for (const char* window : {" window=90,90", " window=-1,-1", " window=9223372036854775807,9223372036854775807"}) {
    Inputs windowed(Problem(sizes + window));
    std::tie(windowed.q, windowed.k, windowed.v, windowed.dout) = std::tie(inputs.q, inputs.k, inputs.v, inputs.dout);
    for (const std::string& backend : backends(inputs.problem))
      expect_rule(oracle, run(windowed, {.backend = backend, .given = &oracle.given()}), backend + window);
  }
}

TEST_P(Property, AWindowToTheLeftWithRightZeroIsCausal) {
  const std::string sizes = "b1 hq2 hk2 sq70 sk90 d32 " + type_;
  const Inputs causal = make_inputs(Problem(sizes + " causal"));
  Inputs windowed(Problem(sizes + " window=-1,0"));
  std::tie(windowed.q, windowed.k, windowed.v, windowed.dout) = std::tie(causal.q, causal.k, causal.v, causal.dout);
  const Oracle oracle(causal);
  for (const std::string& backend : backends(causal.problem))
    expect_rule(oracle, run(windowed, {.backend = backend, .given = &oracle.given()}), backend);
}

TEST_P(Property, SharedHeadsAreRepeatedHeads) {
  const Problem shared("b1 hq6 hk2 sq40 sk50 d24 " + type_ + " causal");
  const Inputs inputs = make_inputs(shared);
  const Oracle oracle(inputs);
  Inputs repeated(Problem("b1 hq6 hk6 sq40 sk50 d24 " + type_ + " causal"));
  const auto repeat = [](const Tensor& t) {
    Tensor out(t.dtype(), {1, 50, 6, 24});
    out.fill([&](int64_t i) { return t.at((i / (6 * 24) * 2 + i / 24 % 6 / 3) * 24 + i % 24); });
    return out;
  };
  repeated.q = inputs.q;
  repeated.k = repeat(inputs.k);
  repeated.v = repeat(inputs.v);
  repeated.dout = inputs.dout;
  for (const std::string& backend : backends(shared)) {
    Results results = run(repeated, {.backend = backend, .given = &oracle.given()});
    const auto gather = [&](const Tensor& t) {
      Tensor out(kFp64, {1, 50, 2, 24});
      out.fill([&](int64_t i) {
        const int64_t first = (i / (2 * 24) * 6 + i / 24 % 2 * 3) * 24 + i % 24;
        return t.at(first) + t.at(first + 24) + t.at(first + 48);
      });
      return out;
    };
    results.dk = gather(results.dk);
    results.dv = gather(results.dv);
    expect_rule(oracle, results, backend);
  }
}

// v = identity shows the probabilities in out, dout = identity shows them in dv; scale = 0 makes them all equal.
TEST_P(Property, DropoutMasksAreTheSameOnEveryBackend) {
  const Problem problem("b2 hq2 hk1 sq150 sk200 d8 dv200 " + type_ + " drop=0.3 scale=0");
  Inputs inputs = make_inputs(problem);
  inputs.v.fill([](int64_t i) { return i / 200 % 200 == i % 200; });
  inputs.dout.fill([](int64_t i) { return i / 400 % 150 == i % 200 && i / 200 % 2 == 0; });
  const auto kept = [](const Tensor& t) {
    std::vector<bool> mask;
    for (double x : t.values()) mask.push_back(x != 0);
    return mask;
  };
  const Results plain = run(inputs, How{});
  const std::vector<bool> forward_mask = kept(plain.out), backward_mask = kept(plain.dv);
  const double fraction = static_cast<double>(std::count(forward_mask.begin(), forward_mask.end(), true)) /
                          static_cast<double>(forward_mask.size());
  EXPECT_NEAR(fraction, 0.7, 0.005);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < 150; ++i)
      for (int64_t j = 0; j < 200; ++j)
        EXPECT_EQ(backward_mask[static_cast<size_t>((b * 200 + j) * 200 + i)],
                  forward_mask[static_cast<size_t>(((b * 150 + i) * 2) * 200 + j)]);
  for (const std::string& backend : backends(problem)) {
    const Results results = run(inputs, {.backend = backend});
    EXPECT_EQ(kept(results.out), forward_mask) << backend;
    EXPECT_EQ(kept(results.dv), backward_mask) << backend;
  }
}

TEST_P(Property, DropoutLeavesLseAlone) {
  const std::string sizes = "b1 hq2 hk2 sq40 sk60 d16 " + type_;
  const Inputs whole = make_inputs(Problem(sizes));
  Inputs dropped(Problem(sizes + " drop=0.5"));
  std::tie(dropped.q, dropped.k, dropped.v, dropped.dout) = std::tie(whole.q, whole.k, whole.v, whole.dout);
  const Oracle oracle(whole);
  for (const std::string& backend : backends(whole.problem))
    for (const Measure& m : oracle.measure(run(dropped, {.backend = backend})))
      EXPECT_TRUE(m.ok() || m.tensor != "lse") << backend << ", " << m.text();
}

INSTANTIATE_TEST_SUITE_P(Types, Property, testing::Values("fp32", "bf16", "fp16"),
                         [](const auto& info) { return info.param; });

}  // namespace

}  // namespace test
