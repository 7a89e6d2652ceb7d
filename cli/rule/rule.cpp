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
constexpr double kUnit = 0x1p-24;          // of float32

// The results of some rows.
struct Part {
  std::vector<double> x, plain, exact;
  double largest_logit;  // of these rows
  bool clear = false;    // these rows are not vague
};

// The row of an element, in the order of lse. Shapes are [..., rows, heads, dim], lse's is [..., heads, rows].
size_t row_of(const std::string& tensor, const std::vector<int64_t>& shape, size_t element) {
  if (tensor == "lse") return element;
  const auto size = [&](size_t from_last) { return static_cast<size_t>(shape[shape.size() - from_last]); };
  const size_t at = element / size(1), row = at / size(2);
  return (row / size(3) * size(2) + at % size(2)) * size(3) + row % size(3);
}

// The rows that are not vague, if each element is one row's result and only some rows are vague; then all rows.
std::vector<Part> parts_of(const std::string& tensor, const Array& x, const Array& plain, const Array& exact,
                           const Bounds& bounds) {
  const Part all{x.values(), plain.values(), exact.values(), bounds.largest_logit};
  if (bounds.vague_rows.empty() || (tensor != "out" && tensor != "lse" && tensor != "dq")) return {all};
  Part clear{{}, {}, {}, bounds.clear_logit, true};
  for (size_t i = 0; i < all.x.size(); ++i) {
    if (bounds.vague_rows[row_of(tensor, exact.shape(), i)]) continue;
    clear.x.push_back(all.x[i]);
    clear.plain.push_back(all.plain[i]);
    clear.exact.push_back(all.exact[i]);
  }
  return {clear, all};
}

struct Difference {
  double largest = 0;
  int64_t misplaced = 0;
};

bool same_place(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (std::isinf(x) || std::isinf(y)) return x == y;
  return true;
}

// Values beyond `range`, the largest finite value of the type, count as infinities.
Difference difference(const std::vector<double>& values, const std::vector<double>& exact, double range) {
  Difference d;
  for (size_t i = 0; i < values.size(); ++i) {
    double a = values[i], b = exact[i];
    if (std::isfinite(b) && std::fabs(b) > range) {
      a = std::clamp(a, -range, range);
      b = std::clamp(b, -range, range);
    }
    if (!same_place(a, b)) ++d.misplaced;
    else if (std::isfinite(a)) d.largest = std::max(d.largest, std::fabs(a - b));
  }
  return d;
}

double largest(const std::vector<double>& exact, double range) {
  double most = 0;
  for (const double v : exact)
    if (std::isfinite(v)) most = std::max(most, std::min(std::fabs(v), range));
  return most;
}

// What float32's logits may cost a result whose largest value is `most`.
double of_logits(const std::string& tensor, double most, double largest_logit, const Bounds& bounds) {
  const double slack = logit_slack(largest_logit);
  if (tensor == "lse") return slack + 1e-6;
  const double vague = Bounds::kVague;
  const double at_most = tensor == "out" ? vague * most + bounds.spread : std::max(vague * most, bounds.reach(tensor));
  return std::min(slack * most, at_most) + kLeastNormal * bounds.reach(tensor);
}

// What float32's sums in dP - delta may cost a result.
double of_sums(const std::string& tensor, bool clear, const Bounds& bounds) {
  if (!bounds.cancelled || (tensor != "dq" && tensor != "dk")) return 0;
  const Cancelled cancelled = bounds.cancelled();
  return kUnit * (tensor == "dk" ? cancelled.dk : clear ? cancelled.clear_dq : cancelled.dq);
}

}  // namespace

Measure measure(std::string tensor, const Array& x, const Array& plain, const Array& exact, const Bounds& bounds) {
  const double range = largest_finite(x.dtype());
  const std::vector<Part> parts = parts_of(tensor, x, plain, exact, bounds);
  const double most = largest(parts.back().exact, range);
  Measure m;
  for (const Part& part : parts) {
    const Difference mine = difference(part.x, part.exact, range);
    Measure of_part;
    of_part.misplaced = mine.misplaced;
    of_part.error = mine.misplaced > 0 ? kInfinity : mine.largest;
    of_part.allowance =
        2 * difference(part.plain, part.exact, range).largest + of_logits(tensor, most, part.largest_logit, bounds);
    if (mine.misplaced == 0 && of_part.error > of_part.allowance)
      of_part.allowance += of_sums(tensor, part.clear, bounds);
    if (of_part.ratio() >= m.ratio()) m = of_part;
  }
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
