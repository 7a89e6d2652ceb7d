#include "support/least_bias.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace test {

namespace {

double least_of(rapt_dtype dtype) {
  constexpr double kBf16Least = -0x1.FEp127;
  return dtype.code == RAPT_BFLOAT ? kBf16Least : std::numeric_limits<float>::lowest();
}

}  // namespace

LeastBias::LeastBias(const std::string& problem, rapt_dtype of_bias)
    : inputs(make_inputs(Problem(problem))), like(inputs), of_bias_(of_bias), least_(least_of(of_bias)) {
  const rapt_problem& c = inputs.problem.c;
  fill_bias(inputs, least_, least_);
  fill_bias(like, 0, -INFINITY);
  const std::vector<double> q = inputs.q.values(), dout = inputs.dout.values();
  like.q.fill([&](int64_t i) { return only_least(i / (c.heads_q * c.head_dim)) ? 0 : q[static_cast<size_t>(i)]; });
  for (Inputs* to : {&inputs, &like})
    to->dout.fill(
        [&](int64_t i) { return only_least(i / (c.heads_q * c.head_dim_v)) ? 0 : dout[static_cast<size_t>(i)]; });
}

void LeastBias::fill_bias(Inputs& to, double of_row, double of_key) const {
  const rapt_problem& c = to.problem.c;
  to.bias = Tensor(of_bias_, {1, 1, c.seqlen_q, c.seqlen_k});
  to.bias.fill([&](int64_t i) {
    const int64_t query = i / c.seqlen_k, key = i % c.seqlen_k;
    return only_least(query) ? of_row : query % 3 == 1 && key % 4 != 0 ? of_key : 0.25;
  });
}

void LeastBias::check_lse(Results& results, const Results& expected) const {
  const int64_t seqlen_q = inputs.problem.c.seqlen_q;
  for (int64_t i = 0; i < results.lse.count(); ++i) {
    if (!only_least(i % seqlen_q)) continue;
    EXPECT_EQ(results.lse.at(i), least_) << "lse " << i;
    results.lse.set(i, expected.lse.at(i));
  }
}

}  // namespace test
