#include "support/allowance.hpp"

#include <stdexcept>

namespace test {

namespace {

void require(rapt_status status) {
  if (status != RAPT_OK) throw std::runtime_error(rapt_last_error());
}

}  // namespace

Oracle::Oracle(const Inputs& in) {
  const Inputs wide = in.as(kFp64);
  plain_ = make_results(in, Layout::compact, differentiable(in));
  exact_ = make_results(wide, Layout::compact, differentiable(wide));
  require(forward(in, plain_, How{}));
  require(forward(wide, exact_, How{}));
  const bool rounded = rapt::cli::gradients_of_plain_out(in.q.dtype());
  bounds_ = rapt::cli::bounds_of(in.problem.c, in, in.dout ? &in.dout : nullptr, rounded ? &plain_.out : nullptr);
  if (!exact_.dq) return;
  given_.out = plain_.out;
  given_.lse = exact_.lse.converted(plain_.lse.dtype());
  require(backward(in, plain_, {.given = &given_}));
  Results given64;
  given64.out = rounded ? given_.out.converted(kFp64) : exact_.out;
  given64.lse = exact_.lse;
  require(backward(wide, exact_, {.given = &given64}));
}

std::vector<Measure> Oracle::measure(const Results& results) const {
  const auto exact = exact_.named(), plain = plain_.named(), tested = results.named();
  std::vector<Measure> measures;
  for (size_t t = 0; t < tested.size(); ++t)
    measures.push_back(
        rapt::cli::measure(tested[t].first, *tested[t].second, *plain[t].second, *exact[t].second, bounds_));
  return measures;
}

}  // namespace test
