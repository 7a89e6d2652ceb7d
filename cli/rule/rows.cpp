#include "cli/rule/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace rapt::cli {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Logit {
  double product;  // scaled and capped
  double value;    // with bias and ALiBi
};

// In float64, with q and k decoded once.
class FinalLogit {
 public:
  FinalLogit(const rapt_problem& p, const MadeTensors& t) : p_(p), t_(t), q_(t.q.values()), k_(t.k.values()) {
    scale_ = p.has_scale ? p.softmax_scale : 1 / std::sqrt(static_cast<double>(p.head_dim));
  }

  Logit operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t row_q = first_q(p_, b) + i, row_k = key_row(p_, t_.block_table, b, j);
    const double* q = q_.data() + (row_q * p_.heads_q + h) * p_.head_dim;
    const double* k = k_.data() + (row_k * p_.heads_k + h / (p_.heads_q / p_.heads_k)) * p_.head_dim;
    double s = 0;
    for (int64_t x = 0; x < p_.head_dim; ++x) s += q[x] * k[x];
    s *= scale_;
    if (p_.softcap != 0) s = p_.softcap * std::tanh(s / p_.softcap);
    const double product = s;
    if (t_.bias) s += t_.bias.at({b, h, i, j});
    if (t_.alibi_slopes) {
      const int64_t off = diagonal(p_, b);
      const double slope = t_.alibi_slopes.at(t_.alibi_slopes.shape().size() == 2 ? b * p_.heads_q + h : h);
      s -= slope * static_cast<double>(std::abs(i + off - j));
    }
    return {product, s};
  }

 private:
  const rapt_problem& p_;
  const MadeTensors& t_;
  std::vector<double> q_, k_;
  double scale_;
};

}  // namespace

double Row::lse() const {
  double sum = std::exp(sink - top);
  for (const double s : logits)
    if (std::isfinite(s)) sum += std::exp(s - top);
  return top + std::log(sum);
}

void each_row(const rapt_problem& p, const MadeTensors& t, const std::function<void(const Row&)>& body) {
  const FinalLogit logit(p, t);
  const bool packed = p.varlen_count > 0;
  const int64_t rows = packed ? first_q(p, p.batch) : p.seqlen_q;
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads_q; ++h)
      for (int64_t i = 0; i < seqlen_q(p, b); ++i) {
        const int64_t index = packed ? h * rows + first_q(p, b) + i : (b * p.heads_q + h) * rows + i;
        Row row{b, h, i, index, {}, {}, {}, t.sink ? t.sink.at(h) : -kInfinity, -kInfinity};
        for (int64_t j = 0; j < seqlen_k(p, b); ++j)
          if (attends(p, t.mask, b, h, i, j)) {
            row.keys.push_back(j);
            const Logit of_key = logit(b, h, i, j);
            row.products.push_back(of_key.product);
            row.logits.push_back(of_key.value);
          }
        row.top = row.sink;
        for (const double s : row.logits) row.top = std::max(row.top, s);
        if (std::ranges::all_of(row.logits, [](double s) { return s < kInfinity; })) body(row);
      }
}

int64_t key_place(const rapt_problem& p, const MadeTensors& t, const Row& row, int64_t key) {
  return key_row(p, t.block_table, row.b, key) * p.heads_k + row.h / (p.heads_q / p.heads_k);
}

}  // namespace rapt::cli
