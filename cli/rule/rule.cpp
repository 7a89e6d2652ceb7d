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
constexpr double kRoundoff = 0x1p-24;

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

}  // namespace

Measure measure(std::string tensor, const Array& x, const Array& plain, const Array& exact, double largest_logit) {
  const Exact x64{exact.values(), largest_finite(x.dtype())};
  const Difference mine = difference(x, x64);
  const double logits = 4 * kRoundoff * (1 + largest_logit);
  Measure m;
  m.tensor = std::move(tensor);
  m.misplaced = mine.misplaced;
  m.gaps_untouched = x.gaps_untouched();
  m.error = m.misplaced == 0 && m.gaps_untouched ? mine.largest : kInfinity;
  m.allowance = 2 * difference(plain, x64).largest + (m.tensor == "lse" ? logits + 1e-6 : logits * largest(x64));
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
