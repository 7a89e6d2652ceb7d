#include "support/allowance.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "cli/verify/rule.hpp"

namespace test {

namespace {

struct Difference {
  double largest = 0;
  int64_t misplaced = 0;
};

bool same_place(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return true;
}

Difference difference(const Tensor& x, const std::vector<double>& exact) {
  const std::vector<double> values = x.values();
  Difference d;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!same_place(values[i], exact[i])) ++d.misplaced;
    else if (std::isfinite(values[i])) d.largest = std::max(d.largest, std::fabs(values[i] - exact[i]));
  }
  return d;
}

void require(rapt_status status) {
  if (status != RAPT_OK) throw std::runtime_error(rapt_last_error());
}

}  // namespace

std::string Measure::text() const {
  std::ostringstream out;
  out << tensor << ": error " << error << ", allowance " << allowance;
  if (misplaced > 0) out << ", " << misplaced << " NaN or infinities misplaced";
  if (!gaps_untouched) out << ", wrote between its rows";
  return out.str();
}

Oracle::Oracle(const Inputs& in) : max_logit_(in.max_logit()), plain_(run(in, How{})) {
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
  for (size_t t = 0; t < tested.size(); ++t) {
    const std::vector<double> x64 = exact[t].second->values();
    double largest = 0;
    for (double x : x64)
      if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
    const Difference mine = difference(*tested[t].second, x64), plainly = difference(*plain[t].second, x64);
    Measure m;
    m.tensor = tested[t].first;
    m.error = mine.largest;
    m.allowance = rapt::cli::allowance(m.tensor, plainly.largest, largest, max_logit_);
    m.misplaced = mine.misplaced;
    m.gaps_untouched = tested[t].second->gaps_untouched();
    measures.push_back(m);
  }
  return measures;
}

}  // namespace test
