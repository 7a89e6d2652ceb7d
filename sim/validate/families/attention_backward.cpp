#include "sim/validate/families/attention_backward.hpp"

#include <cmath>

namespace rapt::sim::validate {
namespace {

using Rows = std::vector<double>;  // [seqlen, dim] of one head

Rows rows_of(const AttentionGradients::Element& element, const AttentionSize& size, std::size_t first,
             std::size_t head) {
  Rows rows;
  for (std::size_t token = first; token < first + size.seqlen; ++token)
    for (std::size_t d = 0; d < size.qk_dim; ++d)
      rows.push_back(element((token * size.heads + head) * size.qk_dim + d));
  return rows;
}

double product(const Rows& a, std::size_t i, const Rows& b, std::size_t j, std::size_t dim) {
  double sum = 0;
  for (std::size_t d = 0; d < dim; ++d) sum += a[i * dim + d] * b[j * dim + d];
  return sum;
}

// One head of one problem of the batch.
struct Head {
  const AttentionSize& size;
  Rows q, k, v, dout;

  Head(const AttentionSize& size, const AttentionGradients& operands, std::size_t first, std::size_t head)
      : size(size),
        q(rows_of(operands.q, size, first, head)),
        k(rows_of(operands.k, size, first, head)),
        v(rows_of(operands.v, size, first, head)),
        dout(rows_of(operands.dout, size, first, head)) {}

  struct Row {
    std::vector<double> p, dp;
    double lse = 0, delta = 0;
  };
  Row row(std::size_t i) const {
    Row r;
    double largest = -INFINITY, sum = 0;
    for (std::size_t key = 0; key < (size.causal ? i + 1 : size.seqlen); ++key) {
      r.p.push_back(size.scale() * product(q, i, k, key, size.qk_dim));
      r.dp.push_back(product(dout, i, v, key, size.qk_dim));
      largest = std::max(largest, r.p.back());
    }
    for (double& p : r.p) sum += p = std::exp(p - largest);
    for (std::size_t key = 0; key < r.p.size(); ++key) r.delta += (r.p[key] /= sum) * r.dp[key];
    r.lse = largest + std::log(sum);
    return r;
  }
};

// Sums, and what their parts' roundings may add up to.
struct Sums {
  Rows value, squares;

  explicit Sums(std::size_t count) : value(count), squares(count) {}
  // A part whose own terms, of size `terms`, may have cancelled out in float32.
  void add(std::size_t at, double part, double terms) {
    value[at] += part;
    squares[at] += part * part + terms * terms * 0x1p-24;
  }
};

}  // namespace

RowStatistics row_statistics(const AttentionSize& size, const AttentionGradients& operands) {
  RowStatistics statistics;
  statistics.lse.resize(size.tokens() * size.heads);
  statistics.delta.resize(size.tokens() * size.heads);
  for (std::size_t batch = 0; batch < size.batch; ++batch)
    for (std::size_t head = 0; head < size.heads; ++head) {
      const Head of_head(size, operands, batch * size.seqlen, head);
      for (std::size_t i = 0; i < size.seqlen; ++i) {
        const Head::Row row = of_head.row(i);
        const std::size_t at = (batch * size.seqlen + i) * size.heads + head;
        statistics.lse[at] = static_cast<float>(row.lse);
        statistics.delta[at] = static_cast<float>(row.delta);
      }
    }
  return statistics;
}

Comparison compare_gradients(const AttentionSize& size, const AttentionGradients& operands, double rounding) {
  const double deviations = 6 / std::sqrt(3.0);  // as in compare_attention
  const std::size_t dim = size.qk_dim;
  Comparison comparison;
  for (std::size_t batch = 0; batch < size.batch; ++batch)
    for (std::size_t head = 0; head < size.heads; ++head) {
      const std::size_t first = batch * size.seqlen;
      const Head of_head(size, operands, first, head);
      Sums dq(size.seqlen * dim), dk(size.seqlen * dim), dv(size.seqlen * dim);
      for (std::size_t i = 0; i < size.seqlen; ++i) {
        const Head::Row row = of_head.row(i);
        for (std::size_t key = 0; key < row.p.size(); ++key) {
          const double factor = size.scale() * row.p[key], ds = factor * (row.dp[key] - row.delta);
          const double terms = factor * (std::abs(row.dp[key]) + std::abs(row.delta));
          for (std::size_t d = 0; d < dim; ++d) {
            dq.add(i * dim + d, ds * of_head.k[key * dim + d], terms * of_head.k[key * dim + d]);
            dk.add(key * dim + d, ds * of_head.q[i * dim + d], terms * of_head.q[i * dim + d]);
            dv.add(key * dim + d, row.p[key] * of_head.dout[i * dim + d], 0);
          }
        }
      }
      const auto compare = [&](const char* what, const Sums& sums, const auto& result) {
        for (std::size_t at = 0; at < sums.value.size(); ++at) {
          const std::size_t token = first + at / dim;
          const double allowed = rounding * (2 * std::abs(sums.value[at]) + deviations * std::sqrt(sums.squares[at]));
          comparison.add(result(token, at % dim), sums.value[at], allowed,
                         [&] { return what + ("[" + std::to_string(token)) + ", " + std::to_string(head) + "]"; });
        }
      };
      const auto row = [&](const AttentionGradients::Element& element) {
        return [&](std::size_t token, std::size_t d) { return element((token * size.heads + head) * dim + d); };
      };
      compare("dq", dq, [&](std::size_t token, std::size_t d) { return operands.dq(token, head, d); });
      compare("dk", dk, row(operands.dk));
      compare("dv", dv, row(operands.dv));
    }
  return comparison;
}

}  // namespace rapt::sim::validate
