#include "cli/tune/interval.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rapt::cli {

namespace {

size_t middle(size_t count) { return (count + 1) / 2; }  // counted from 1

// The probability of at least `least` successes in n tries of probability p.
double binomial_tail(size_t n, size_t least, double p) {
  if (p >= 1) return 1;
  double sum = 0;
  const double size = static_cast<double>(n), log_p = std::log(p), log_q = std::log1p(-p);
  for (size_t k = least; k <= n; ++k) {
    const double hits = static_cast<double>(k);
    sum += std::exp(std::lgamma(size + 1) - std::lgamma(hits + 1) - std::lgamma(size - hits + 1) + hits * log_p +
                    (size - hits) * log_q);
  }
  return std::min(sum, 1.0);
}

}  // namespace

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  const auto at = sorted.begin() + static_cast<ptrdiff_t>(middle(sorted.size()) - 1);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

// A resample's median is at most the k-th smallest value if at least half of its draws are.
Interval median_interval(std::span<const double> values, double confidence) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  const auto percentile = [&](double fraction) {
    size_t low = 1, high = n;
    while (low < high) {
      const size_t k = (low + high) / 2;
      if (binomial_tail(n, middle(n), static_cast<double>(k) / static_cast<double>(n)) >= fraction) high = k;
      else low = k + 1;
    }
    return sorted[low - 1];
  };
  return {percentile((1 - confidence) / 2), percentile((1 + confidence) / 2)};
}

}  // namespace rapt::cli
