#include "torch_rule.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace test {

namespace {

constexpr double kLeast = 1e-5;

// PyTorch's factor for ROCm, up to 1023 keys.
double factor_of(const std::string& tensor, const Results& results) {
  if (tensor == "out") return 6;
  if (tensor == "dq") return 360;
  if (tensor == "dk") return results.dk.dtype().bits == 32 ? 90 : 45;
  if (tensor == "dv") return results.dbias ? 8 : 6;
  return 45;  // dbias
}

// NaN if any element is.
double largest_error(const Tensor& x, const Tensor& exact) {
  double largest = 0;
  for (int64_t i = 0; i < exact.count() && !std::isnan(largest); ++i) {
    const double error = std::abs(x.at(i) - exact.at(i));
    largest = error <= largest ? largest : error;
  }
  return largest;
}

}  // namespace

double TorchMeasure::allowance() const { return std::max(kLeast, factor * plain_error); }

std::string TorchMeasure::text() const {
  std::ostringstream text;
  text << tensor << ": error " << error << ", allowed " << allowance() << " by PyTorch, whose own error is "
       << plain_error;
  return text.str();
}

TorchRule::TorchRule(const Inputs& in) : exact_(run(in.as(kFp64), How{})), plain_(run(in.as(kFp32), How{})) {
  for (Tensor* t : {&plain_.out, &plain_.dq, &plain_.dk, &plain_.dv, &plain_.dbias})
    if (*t) *t = t->converted(in.q.dtype());
}

std::vector<TorchMeasure> TorchRule::measure(const Results& results) const {
  const auto exact = exact_.named(), plain = plain_.named(), tested = results.named();
  std::vector<TorchMeasure> measures;
  for (size_t t = 0; t < tested.size(); ++t)
    if (const std::string& name = tested[t].first; name != "lse")
      measures.push_back({name, largest_error(*tested[t].second, *exact[t].second),
                          largest_error(*plain[t].second, *exact[t].second), factor_of(name, results)});
  return measures;
}

}  // namespace test
