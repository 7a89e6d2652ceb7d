#include "cli/rule/rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "cli/inputs/dtype.hpp"

namespace rapt::cli {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastNormal = 0x1p-126;  // a weight below it may count as 0

// X64; values beyond the range of x's type count as infinities.
struct Exact {
  std::vector<double> values;
  double range;  // the largest finite value of the type
};

struct Difference {
  double largest = 0;
  int64_t misplaced = 0;
};

bool same_place(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return true;
}

Difference difference(const Array& x, const Exact& exact) {
  const std::vector<double> values = x.values();
  Difference d;
  for (size_t i = 0; i < values.size(); ++i) {
    double a = values[i], b = exact.values[i];
    if (std::isfinite(b) && std::fabs(b) > exact.range) {
      a = std::clamp(a, -exact.range, exact.range);
      b = std::clamp(b, -exact.range, exact.range);
    }
    if (!same_place(a, b)) ++d.misplaced;
    else if (std::isfinite(a)) d.largest = std::max(d.largest, std::fabs(a - b));
  }
  return d;
}

double largest(const Exact& exact) {
  double most = 0;
  for (const double v : exact.values)
    if (std::isfinite(v)) most = std::max(most, std::min(std::fabs(v), exact.range));
  return most;
}

// What float32's logits may cost a result whose largest value is `most`.
double of_logits(const std::string& tensor, double most, const Bounds& bounds) {
  const double slack = logit_slack(bounds.largest_logit);
  if (tensor == "lse") return slack + 1e-6;
  const double vague = Bounds::kVague;
  const double at_most = tensor == "out" ? vague * most + bounds.spread : std::max(vague * most, bounds.reach(tensor));
  return std::min(slack * most, at_most) + kLeastNormal * bounds.reach(tensor);
}

}  // namespace

Measure measure(std::string tensor, const Array& x, const Array& plain, const Array& exact, const Bounds& bounds) {
  const Exact x64{exact.values(), largest_finite(x.dtype())};
  const Difference mine = difference(x, x64);
  Measure m;
  m.tensor = std::move(tensor);
  m.misplaced = mine.misplaced;
  m.gaps_untouched = x.gaps_untouched();
  m.error = m.misplaced == 0 && m.gaps_untouched ? mine.largest : kInfinity;
  m.allowance = 2 * difference(plain, x64).largest + of_logits(m.tensor, largest(x64), bounds);
  return m;
}

std::string Measure::text() const {
  std::ostringstream out;
  out << tensor << ": error " << error << ", allowance " << allowance;
  if (misplaced > 0) out << ", " << misplaced << " NaN or infinities misplaced";
  if (!gaps_untouched) out << ", wrote between its rows";
  return out.str();
}

}  // namespace rapt::cli
