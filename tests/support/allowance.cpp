#include "support/allowance.hpp"

#include <stdexcept>

namespace test {

namespace {

void require(rapt_status status) {
  if (status != RAPT_OK) throw std::runtime_error(rapt_last_error());
}

}  // namespace

Oracle::Oracle(const Inputs& in) : largest_logit_(rapt::cli::largest_logit(in.problem.c, in)), plain_(run(in, How{})) {
  const Inputs wide = in.as(kFp64);
  exact_ = make_results(wide, Layout::compact, differentiable(wide));
  require(forward(wide, exact_, How{}));
  if (!exact_.dq) return;
  Results given;
  given.out = rapt::cli::gradients_of_plain_out(in.q.dtype()) ? plain_.out.converted(kFp64) : exact_.out;
  given.lse = exact_.lse;
  require(backward(wide, exact_, {.given = &given}));
}

std::vector<Measure> Oracle::measure(const Results& results) const {
  const auto exact = exact_.named(), plain = plain_.named(), tested = results.named();
  std::vector<Measure> measures;
  for (size_t t = 0; t < tested.size(); ++t)
    measures.push_back(
        rapt::cli::measure(tested[t].first, *tested[t].second, *plain[t].second, *exact[t].second, largest_logit_));
  return measures;
}

}  // namespace test
