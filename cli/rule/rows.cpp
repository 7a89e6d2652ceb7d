#include "cli/rule/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace rapt::cli {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Logit {
  double slope;  // of softcap
  double value;
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
    const auto dim = static_cast<size_t>(p_.head_dim);
    double s = scale_ * dot({q, dim}, {k, dim});
    double slope = 1;
    if (p_.softcap != 0) {
      const double x = s / p_.softcap, e = std::exp(-2 * std::fabs(x));
      slope = 4 * e / ((1 + e) * (1 + e));
      s = p_.softcap * std::tanh(x);
    }
    if (t_.bias) s += t_.bias.at({b, h, i, j});
    if (t_.alibi_slopes) {
      const int64_t off = diagonal(p_, b);
      const double alibi = t_.alibi_slopes.at(t_.alibi_slopes.shape().size() == 2 ? b * p_.heads_q + h : h);
      s -= alibi * static_cast<double>(std::abs(i + off - j));
    }
    return {slope, s};
  }

 private:
  const rapt_problem& p_;
  const MadeTensors& t_;
  std::vector<double> q_, k_;
  double scale_;
};

}  // namespace

double Row::log_sum() const {
  double sum = std::exp(sink - top);
  for (const double s : logits)
    if (std::isfinite(s)) sum += std::exp(s - top);
  return std::log(sum);
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
            row.slopes.push_back(of_key.slope);
            row.logits.push_back(of_key.value);
          }
        row.top = row.sink;
        for (const double s : row.logits) row.top = std::max(row.top, s);
        if (std::ranges::all_of(row.logits, [](double s) { return s < kInfinity; })) body(row);
      }
}

int64_t row_count(const rapt_problem& p) {
  return p.heads_q * (p.varlen_count > 0 ? first_q(p, p.batch) : p.batch * p.seqlen_q);
}

int64_t query_place(const rapt_problem& p, const Row& row) { return (first_q(p, row.b) + row.i) * p.heads_q + row.h; }

int64_t key_place(const rapt_problem& p, const MadeTensors& t, const Row& row, int64_t key) {
  return key_row(p, t.block_table, row.b, key) * p.heads_k + row.h / (p.heads_q / p.heads_k);
}

size_t bias_place(const MadeTensors& t, const Row& row, int64_t key) {
  const std::vector<int64_t>& size = t.bias.shape();
  const int64_t indices[] = {row.b, row.h, row.i, key};
  int64_t at = 0;
  for (size_t x = 0; x < 4; ++x) at = at * size[x] + (size[x] == 1 ? 0 : indices[x]);
  return static_cast<size_t>(at);
}

// In parts, which vectorises.
double dot(std::span<const double> a, std::span<const double> b) {
  double parts[8] = {};
  size_t x = 0;
  for (; x + 8 <= a.size(); x += 8)
    for (size_t n = 0; n < 8; ++n) parts[n] += a[x + n] * b[x + n];
  double sum = 0;
  for (; x < a.size(); ++x) sum += a[x] * b[x];
  for (const double part : parts) sum += part;
  return sum;
}

double scale_of(const rapt_problem& p) {
  return std::fabs(p.has_scale ? p.softmax_scale : 1 / std::sqrt(static_cast<double>(p.head_dim)));
}

}  // namespace rapt::cli
