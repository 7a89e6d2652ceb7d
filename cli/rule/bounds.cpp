// What the results of a problem are bounded by, from its inputs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cli/rule/rows.hpp"
#include "cli/rule/rule.hpp"

namespace rapt::cli {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A weight below half of float32's least number is exactly 0: e^-104 is below 2^-150.
constexpr double kNoWeight = -104;

// The largest magnitude among the row's finite logits. Where the weight is exactly 0, what was added to the product
// does not count.
double largest_of(const Row& row) {
  double largest = 0;
  const double least = row.lse() + kNoWeight;
  for (size_t n = 0; n < row.logits.size(); ++n) {
    const double counts = row.logits[n] >= least ? row.logits[n] : row.products[n];
    if (std::isfinite(row.logits[n]) && std::isfinite(counts)) largest = std::max(largest, std::fabs(counts));
  }
  return std::isfinite(row.sink) && row.sink >= least ? std::max(largest, std::fabs(row.sink)) : largest;
}

// The widest range of V, in one dimension, among the keys that an error of `slack` in each logit can give weight. It is
// 0 where these logits are equal: their weights are equal too, in any arithmetic.
double spread_of(const rapt_problem& p, const MadeTensors& t, const Row& row, double slack,
                 const std::vector<double>& v) {
  std::vector<int64_t> keys;
  double low = kInfinity, high = -kInfinity, spread = 0;
  const double least = row.top + kNoWeight - 2 * slack;
  for (size_t n = 0; n < row.keys.size(); ++n) {
    const double s = row.logits[n];
    if (!std::isfinite(s) || s < least) continue;
    keys.push_back(row.keys[n]);
    low = std::min(low, s), high = std::max(high, s);
  }
  const bool with_zero = p.dropout > 0 || row.sink >= least;
  if (keys.empty() || (low == high && !(row.sink >= least))) return 0;
  for (int64_t x = 0; x < p.head_dim_v; ++x) {
    double from = with_zero ? 0 : kInfinity, to = with_zero ? 0 : -kInfinity;
    for (const int64_t j : keys) {
      const double value = v[static_cast<size_t>(key_place(p, t, row, j) * p.head_dim_v + x)];
      if (std::isfinite(value)) from = std::min(from, value), to = std::max(to, value);
    }
    if (to > from) spread = std::max(spread, to - from);
  }
  return spread;
}

void find_largest_logits(const rapt_problem& p, const MadeTensors& t, Bounds& b) {
  const int64_t rows = p.varlen_count > 0 ? first_q(p, p.batch) : p.batch * p.seqlen_q;
  std::vector<bool> vague(static_cast<size_t>(rows * p.heads_q));
  each_row(p, t, [&](const Row& row) {
    const double largest = largest_of(row);
    vague[static_cast<size_t>(row.index)] = logit_slack(largest) > Bounds::kVague;
    b.largest_logit = std::max(b.largest_logit, largest);
    if (logit_slack(largest) <= Bounds::kVague) b.clear_logit = std::max(b.clear_logit, largest);
  });
  if (logit_slack(b.largest_logit) > Bounds::kVague) b.vague_rows = std::move(vague);
}

double largest_finite_of(const Array& a) {
  double most = 0;
  for (const double x : a.values())
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  return most;
}

// The largest Euclidean norm of a row, without what is not finite.
double largest_norm(const Array& a) {
  const std::vector<double> values = a.values();
  const auto dim = static_cast<size_t>(a.shape().back());
  double most = 0;
  for (size_t row = 0; row + dim <= values.size() && dim > 0; row += dim) {
    double squares = 0;
    for (size_t x = 0; x < dim; ++x)
      if (std::isfinite(values[row + x])) squares += values[row + x] * values[row + x];
    most = std::max(most, std::sqrt(squares));
  }
  return most;
}

}  // namespace

Bounds bounds_of(const rapt_problem& p, const MadeTensors& t, const Array* dout) {
  Bounds b;
  find_largest_logits(p, t, b);
  const double slack = logit_slack(b.largest_logit), keep = 1 / (1 - p.dropout);
  const std::vector<double> v = t.v.values();
  b.spread = 0;
  if (slack > Bounds::kVague)
    each_row(p, t, [&](const Row& row) { b.spread = std::max(b.spread, keep * spread_of(p, t, row, slack, v)); });

  int64_t most_q = 0, most_k = 0;
  for (int64_t i = 0; i < p.batch; ++i)
    most_q = std::max(most_q, seqlen_q(p, i)), most_k = std::max(most_k, seqlen_k(p, i));
  const double keys = static_cast<double>(most_k), rows = static_cast<double>(most_q * p.heads_q / p.heads_k);
  b.out = keys * keep * largest_finite_of(t.v);
  if (!dout) return b;
  const double scale = std::fabs(p.has_scale ? p.softmax_scale : 1 / std::sqrt(static_cast<double>(p.head_dim)));
  const double gradient = 2 * keep * largest_norm(*dout) * largest_norm(t.v);  // |dP - delta|
  b.dv = rows * keep * largest_finite_of(*dout);
  b.dq = keys * scale * gradient * largest_finite_of(t.k);
  b.dk = rows * scale * gradient * largest_finite_of(t.q);
  b.dbias = gradient * static_cast<double>(p.batch * p.heads_q * most_q);
  b.dsink = b.dbias;
  if (p.dropout == 0) b.cancelled = cancellation(p, t, *dout, b.vague_rows);
  return b;
}

double Bounds::reach(const std::string& tensor) const {
  if (tensor == "out") return out;
  if (tensor == "dq") return dq;
  if (tensor == "dk") return dk;
  if (tensor == "dv") return dv;
  return tensor == "dbias" ? dbias : tensor == "dsink" ? dsink : 0;
}

}  // namespace rapt::cli
