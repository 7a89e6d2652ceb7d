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
constexpr double kMost = 4;               // times its own sums' errors are an element's largest allowance
constexpr double kResultLoses = 0x1p-20;  // by additions of terms of one sign

// Sums of denormal numbers lose more than others, and dot products of bf16 take such numbers for 0.
double smallest_of_sums(rapt_dtype dtype) {
  return dtype.bits > 16 ? 0x1p-140 : dtype.code == RAPT_BFLOAT ? 0x1p-120 : 0;
}

bool same_place(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return true;
}

// |a - b|, 0 where both have the same NaN or infinity, and infinite where only one has. Values beyond `range`, the
// largest finite value of the type, count as infinities.
double difference(double a, double b, double range) {
  if (std::isfinite(b) && std::fabs(b) > range) {
    a = std::clamp(a, -range, range);
    b = std::clamp(b, -range, range);
  }
  if (!same_place(a, b)) return kInfinity;
  return std::isfinite(a) ? std::fabs(a - b) : 0;
}

}  // namespace

Measure measure(std::string tensor, const Array& x, const Array& plain, const Array& exact, const Bounds& bounds) {
  const double range = largest_finite(x.dtype());
  const std::vector<double> mine = x.values(), of_plain = plain.values(), of_exact = exact.values();
  double plain_error = 0;
  for (size_t i = 0; i < of_exact.size(); ++i)
    if (const double d = difference(of_plain[i], of_exact[i], range); d < kInfinity)
      plain_error = std::max(plain_error, d);
  const std::vector<double>& sums = bounds.at(tensor);
  const double rest = tensor == "lse" ? 1e-6 : 0;
  // The element that is closest to its allowance.
  Measure m;
  for (size_t i = 0; i < of_exact.size(); ++i) {
    const double size = std::min(std::fabs(of_exact[i]), range), error = difference(mine[i], of_exact[i], range);
    const double rounded =
        std::max({rounding(x.dtype(), size + sums[i]), kResultLoses * size, smallest_of_sums(x.dtype())});
    const double own = sums[i] + rounded;
    const double allowed = std::clamp(2 * plain_error, own, kMost * own) + rest;
    m.misplaced += error == kInfinity;
    if (error == 0 ? m.error == 0 : !(error / allowed < m.ratio())) m.error = error, m.allowance = allowed;
  }
  if (m.misplaced > 0) m.error = kInfinity;
  m.tensor = std::move(tensor);
  m.gaps_untouched = x.gaps_untouched();
  if (!m.gaps_untouched) m.error = kInfinity;
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
