// How large the terms are that cancel in the gradient of a logit, P (dP - delta). dP and delta are float32 sums: each
// may lose a part of its terms, however little is left of the difference.
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

// Adds the squares of errors, factor times these terms.
void add(std::span<double> squares, double factor, std::span<const double> terms) {
  for (size_t x = 0; x < squares.size(); ++x) squares[x] += factor * terms[x] * (factor * terms[x]);
}

// Errors of rows and keys are independent: their sum is rarely more than two standard deviations.
double largest(std::span<const double> squares) {
  return squares.empty() ? 0 : 2 * std::sqrt(*std::ranges::max_element(squares));
}

Cancelled cancelled_of(const rapt_problem& p, const MadeTensors& t, const Array& dout, const std::vector<bool>& vague) {
  const std::vector<double> q = finite_values(t.q), k = finite_values(t.k), v = magnitudes(t.v), d = magnitudes(dout);
  const auto dim = static_cast<size_t>(p.head_dim), dim_v = static_cast<size_t>(p.head_dim_v);
  const auto at = [](const std::vector<double>& x, int64_t place, size_t n) {
    return std::span(x).subspan(static_cast<size_t>(place) * n, n);
  };
  std::vector<double> dk(k.size());
  Cancelled found;
  each_row(p, t, [&](const Row& row) {
    if (!std::isfinite(row.top)) return;
    const double lse = row.lse();
    const int64_t place = (first_q(p, row.b) + row.i) * p.heads_q + row.h;
    std::vector<double> weights, terms;  // of dP
    double delta = 0;                    // its terms: a mean of dP's
    for (size_t n = 0; n < row.keys.size(); ++n) {
      const std::span<const double> of_v = at(v, key_place(p, t, row, row.keys[n]), dim_v), of_d = at(d, place, dim_v);
      terms.push_back(std::inner_product(of_d.begin(), of_d.end(), of_v.begin(), 0.0));
      weights.push_back(std::exp(row.logits[n] - lse));
      delta += weights[n] * terms[n];
    }
    std::vector<double> dq(dim);
    for (size_t n = 0; n < row.keys.size(); ++n) {
      double lost = weights[n] * (terms[n] + delta);
      if (p.softcap != 0) lost *= 1 - row.products[n] / p.softcap * (row.products[n] / p.softcap);
      const int64_t key = key_place(p, t, row, row.keys[n]);
      add(dq, lost, at(k, key, dim));
      add(std::span(dk).subspan(static_cast<size_t>(key) * dim, dim), lost, at(q, place, dim));
    }
    found.dq = std::max(found.dq, largest(dq));
    if (vague.empty() || !vague[static_cast<size_t>(row.index)]) found.clear_dq = std::max(found.clear_dq, largest(dq));
  });
  const double scale = std::fabs(p.has_scale ? p.softmax_scale : 1 / std::sqrt(static_cast<double>(p.head_dim)));
  return {scale * found.dq, scale * largest(dk), scale * found.clear_dq};
}

}  // namespace

std::function<Cancelled()> cancellation(const rapt_problem& p, const MadeTensors& t, const Array& dout,
                                        const std::vector<bool>& vague_rows) {
  const std::vector<int64_t> lengths(p.varlen, p.varlen + 2 * p.varlen_count);
  return [problem = p, lengths, t, dout, vague_rows]() mutable {
    problem.varlen = lengths.data();
    return cancelled_of(problem, t, dout, vague_rows);
  };
}

}  // namespace rapt::cli
