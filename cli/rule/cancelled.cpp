// How large the terms of sums are that cancel. Each float32 sum may lose a part of its terms, however little is left of
// them: logits, and in the gradient of a logit, P (dP - delta), dP and delta.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "cli/rule/rows.hpp"

namespace rapt::cli {

namespace {

std::vector<double> finite_values(const Array& a) {
  std::vector<double> values = a.values();
  for (double& x : values)
    if (!std::isfinite(x)) x = 0;
  return values;
}

std::vector<double> magnitudes(const Array& a) {
  std::vector<double> values = finite_values(a);
  for (double& x : values) x = std::fabs(x);
  return values;
}

// Rows of `size` numbers.
struct Matrix {
  std::vector<double> values;
  size_t size;
  std::span<const double> row(int64_t n) const {
    return std::span(values).subspan(static_cast<size_t>(n) * size, size);
  }
  std::span<double> row(int64_t n) { return std::span(values).subspan(static_cast<size_t>(n) * size, size); }
};

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Adds the squares of errors, factor times these terms.
void add(std::span<double> squares, double factor, std::span<const double> terms) {
  for (size_t x = 0; x < squares.size(); ++x) squares[x] += factor * terms[x] * (factor * terms[x]);
}

// Errors of rows and keys are independent: their sum is rarely more than two standard deviations.
double largest(std::span<const double> squares) {
  return squares.empty() ? 0 : 2 * std::sqrt(*std::ranges::max_element(squares));
}

class Cancelling {
 public:
  Cancelling(const rapt_problem& p, const MadeTensors& t, const Array& dout, const std::vector<bool>& vague)
      : p_(p),
        t_(t),
        vague_(vague),
        scale_(std::fabs(p.has_scale ? p.softmax_scale : 1 / std::sqrt(static_cast<double>(p.head_dim)))),
        keep_(1 / (1 - p.dropout)),
        q_{magnitudes(t.q), static_cast<size_t>(p.head_dim)},
        k_{magnitudes(t.k), static_cast<size_t>(p.head_dim)},
        signed_k_{finite_values(t.k), static_cast<size_t>(p.head_dim)} {
    if (!dout) return;
    v_ = {magnitudes(t.v), static_cast<size_t>(p.head_dim_v)};
    dout_ = {magnitudes(dout), static_cast<size_t>(p.head_dim_v)};
    dk_ = {std::vector<double>(k_.values.size()), k_.size};
    dsink_.resize(static_cast<size_t>(p.heads_q));
    if (t.bias) dbias_.resize(static_cast<size_t>(t.bias.count()));
  }

  Cancelled all() {
    each_row(p_, t_, [&](const Row& row) {
      if (!std::isfinite(row.top)) return;
      const bool clear = vague_.empty() || !vague_[static_cast<size_t>(row.index)];
      add_row(row, clear);
    });
    found_.dk = scale_ * largest(dk_.values);
    found_.dbias = largest(dbias_);
    found_.dsink = largest(dsink_);
    return found_;
  }

 private:
  int64_t query(const Row& row) const { return (first_q(p_, row.b) + row.i) * p_.heads_q + row.h; }

  void add_row(const Row& row, bool clear) {
    const double lse = row.lse();
    std::vector<double> weights;
    double of_logits = 0;
    for (size_t n = 0; n < row.keys.size(); ++n) {
      weights.push_back(std::exp(row.logits[n] - lse));
      const double terms = scale_ * dot(q_.row(query(row)), k_.row(key_place(p_, t_, row, row.keys[n])));
      of_logits += weights[n] * row.slopes[n] * terms;
    }
    raise(found_.lse, found_.clear_lse, of_logits + std::fabs(lse) / 2, clear);  // lse is rounded too
    const double slack = clear ? 0 : 2 * logit_slack(largest_logit(row));
    for (size_t n = 0; n < row.keys.size(); ++n) weights[n] = std::exp(std::min(0.0, row.logits[n] - lse + slack));
    if (!dout_.values.empty()) add_gradients(row, clear, std::exp(std::min(0.0, row.sink - lse + slack)), weights);
  }

  // Dropout multiplies a term by 0 or by `keep_`; the rule does not know which.
  void add_gradients(const Row& row, bool clear, double sink_weight, const std::vector<double>& weights) {
    std::vector<double> terms;   // of dP
    double delta = 0, most = 0;  // delta's terms: a mean of dP's
    for (size_t n = 0; n < row.keys.size(); ++n) {
      terms.push_back(keep_ * dot(dout_.row(query(row)), v_.row(key_place(p_, t_, row, row.keys[n]))));
      delta += weights[n] * terms[n];
      most = std::max(most, terms[n]);
    }
    delta = std::min(delta, most);
    std::vector<double> dq(q_.size), mean(q_.size);  // delta's error is the same at all keys of the row
    for (size_t n = 0; n < row.keys.size(); ++n) {
      const double lost = weights[n] * (terms[n] + delta);
      const int64_t key = key_place(p_, t_, row, row.keys[n]);
      add(dq, lost * row.slopes[n], k_.row(key));
      add(dk_.row(key), lost * row.slopes[n], q_.row(query(row)));
      for (size_t x = 0; x < mean.size(); ++x) mean[x] += weights[n] * row.slopes[n] * signed_k_.row(key)[x];
      if (!dbias_.empty()) dbias_[bias_place(row, row.keys[n])] += lost * lost;
    }
    add(dq, delta, mean);
    const double of_sink = sink_weight * delta;
    dsink_[static_cast<size_t>(row.h)] += of_sink * of_sink;
    raise(found_.dq, found_.clear_dq, scale_ * largest(dq), clear);
  }

  size_t bias_place(const Row& row, int64_t key) const {
    const std::vector<int64_t>& size = t_.bias.shape();
    int64_t at = 0;
    const int64_t indices[] = {row.b, row.h, row.i, key};
    for (size_t x = 0; x < 4; ++x) at = at * size[x] + (size[x] == 1 ? 0 : indices[x]);
    return static_cast<size_t>(at);
  }

  static void raise(double& all, double& of_clear, double x, bool clear) {
    all = std::max(all, x);
    if (clear) of_clear = std::max(of_clear, x);
  }

  const rapt_problem& p_;
  const MadeTensors& t_;
  const std::vector<bool>& vague_;
  const double scale_, keep_;
  Matrix q_, k_, signed_k_, v_ = {}, dout_ = {}, dk_ = {};
  std::vector<double> dbias_, dsink_;  // squares, as those of dk_
  Cancelled found_;
};

}  // namespace

std::function<Cancelled()> cancellation(const rapt_problem& p, const MadeTensors& t, const Array* dout,
                                        const std::vector<bool>& vague_rows) {
  const std::vector<int64_t> lengths(p.varlen, p.varlen + 2 * p.varlen_count);
  return [problem = p, lengths, t, dout = dout ? *dout : Array(), vague_rows]() mutable {
    problem.varlen = lengths.data();
    return Cancelling(problem, t, dout, vague_rows).all();
  };
}

}  // namespace rapt::cli
