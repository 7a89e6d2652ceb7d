#include "sim/validate/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace rapt::sim::validate {
namespace {

bool same_order(const Point& a, const Point& b) {
  if (!a.forecast || !b.forecast) return false;
  return a.measured < b.measured ? *a.forecast < *b.forecast : *a.forecast > *b.forecast;
}

void count(Share& share, bool right) {
  ++share.of;
  share.right += right;
}

}  // namespace

Statistics statistics(const std::vector<Point>& points) {
  Statistics s;
  s.rows = points.size();
  double logarithms = 0, ratios = 0;
  for (const Point& p : points) {
    const std::optional<double> ratio = p.forecast ? std::optional(*p.forecast / p.measured) : std::nullopt;
    s.forecasts += ratio.has_value();
    if (p.measured < Statistics::shortest) continue;
    if (ratio) logarithms += std::log(*ratio), ++ratios;
    for (std::size_t t = 0; t < s.within.size(); ++t)
      count(s.within[t], ratio && std::abs(*ratio - 1) <= Statistics::tolerances[t]);
  }
  if (ratios > 0) s.geometric_mean = std::exp(logarithms / ratios);

  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Point &a = points[i], &b = points[j];
      const double factor = std::max(a.measured, b.measured) / std::min(a.measured, b.measured);
      if (factor < 1.1) continue;
      if (factor <= 1.5) count(s.order, same_order(a, b));
      if (a.problem == b.problem) count(s.rivals, same_order(a, b));
    }
  return s;
}

}  // namespace rapt::sim::validate
