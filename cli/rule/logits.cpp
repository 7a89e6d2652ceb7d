// The size of the logits, by the formula of docs/naming.md. Slow and plain on purpose: it decides how much error a
// backend may have, so it shares nothing with any backend.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/rule/rule.hpp"

namespace rapt::cli {

namespace {

// In float64, with q and k decoded once.
class FinalLogit {
 public:
  FinalLogit(const rapt_problem& p, const MadeTensors& t) : p_(p), t_(t), q_(t.q.values()), k_(t.k.values()) {
    scale_ = p.has_scale ? p.softmax_scale : 1 / std::sqrt(static_cast<double>(p.head_dim));
  }

  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t row_q = first_q(p_, b) + i, row_k = key_row(p_, t_.block_table, b, j);
    const double* q = q_.data() + (row_q * p_.heads_q + h) * p_.head_dim;
    const double* k = k_.data() + (row_k * p_.heads_k + h / (p_.heads_q / p_.heads_k)) * p_.head_dim;
    double s = 0;
    for (int64_t x = 0; x < p_.head_dim; ++x) s += q[x] * k[x];
    s *= scale_;
    if (p_.softcap != 0) s = p_.softcap * std::tanh(s / p_.softcap);
    if (t_.bias) s += t_.bias.at({b, h, i, j});
    if (t_.alibi_slopes) {
      const int64_t off = diagonal(p_, b);
      const double slope = t_.alibi_slopes.at(t_.alibi_slopes.shape().size() == 2 ? b * p_.heads_q + h : h);
      s -= slope * static_cast<double>(std::abs(i + off - j));
    }
    return s;
  }

 private:
  const rapt_problem& p_;
  const MadeTensors& t_;
  std::vector<double> q_, k_;
  double scale_;
};

}  // namespace

double largest_logit(const rapt_problem& p, const MadeTensors& t) {
  const FinalLogit logit(p, t);
  double largest = 0;
  const auto take = [&](double s) {
    if (std::isfinite(s)) largest = std::max(largest, std::fabs(s));
  };
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads_q; ++h)
      for (int64_t i = 0; i < seqlen_q(p, b); ++i)
        for (int64_t j = 0; j < seqlen_k(p, b); ++j)
          if (attends(p, t.mask, b, h, i, j)) take(logit(b, h, i, j));
  for (int64_t h = 0; t.sink && h < t.sink.count(); ++h) take(t.sink.at(h));
  return largest;
}

}  // namespace rapt::cli
