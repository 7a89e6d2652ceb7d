#include "sim/validate/families/attention.hpp"

#include <cmath>

namespace rapt::sim::validate {
namespace {

using Rows = std::vector<double>;  // [seqlen, dim] of one head

Rows rows_of(const AttentionOperands::Element& element, std::size_t first_token, std::size_t seqlen, std::size_t head,
             std::size_t heads, std::size_t dim) {
  Rows rows;
  rows.reserve(seqlen * dim);
  for (std::size_t token = first_token; token < first_token + seqlen; ++token)
    for (std::size_t d = 0; d < dim; ++d) rows.push_back(element((token * heads + head) * dim + d));
  return rows;
}

// Scores become their softmax; the logarithm of its divisor.
double softmax(std::vector<double>& scores) {
  double largest = scores[0], sum = 0;
  for (const double score : scores) largest = std::max(largest, score);
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
  return largest + std::log(sum);
}

}  // namespace

double AttentionSize::scale() const { return 1 / std::sqrt(static_cast<double>(qk_dim)); }

double AttentionSize::flops() const {
  const double all = 2.0 * batch * heads * seqlen * seqlen * (qk_dim + v_dim);
  return causal ? all / 2 : all;
}

Comparison compare_attention(const AttentionSize& size, const AttentionOperands& operands, double rounding) {
  // Probabilities are rounded before the second product. Their errors are spread evenly and independent: six standard
  // deviations of the sum are allowed; what they have in common, if they are all cut off, is at most another rounding.
  const double deviations = 6 / std::sqrt(3.0);
  Comparison comparison;
  for (std::size_t batch = 0; batch < size.batch; ++batch)
    for (std::size_t head = 0; head < size.heads; ++head) {
      const std::size_t first = batch * size.seqlen, head_k = head / (size.heads / size.heads_k);
      const Rows q = rows_of(operands.q, first, size.seqlen, head, size.heads, size.qk_dim),
                 k = rows_of(operands.k, first, size.seqlen, head_k, size.heads_k, size.qk_dim),
                 v = rows_of(operands.v, first, size.seqlen, head_k, size.heads_k, size.v_dim);
      for (std::size_t row = 0; row < size.seqlen; ++row) {
        const auto where = [&](const char* what) {
          return [=] { return what + ("[" + std::to_string(first + row)) + ", " + std::to_string(head) + "]"; };
        };
        std::vector<double> p(size.causal ? row + 1 : size.seqlen);
        for (std::size_t key = 0; key < p.size(); ++key) {
          for (std::size_t d = 0; d < size.qk_dim; ++d) p[key] += q[row * size.qk_dim + d] * k[key * size.qk_dim + d];
          p[key] *= size.scale();
        }
        const double lse = softmax(p);
        comparison.add(operands.lse(first + row, head), lse, 1e-5 * std::max(1.0, std::abs(lse)), where("lse"));
        std::vector<double> out(size.v_dim), squares(size.v_dim);
        for (std::size_t key = 0; key < p.size(); ++key)
          for (std::size_t d = 0; d < size.v_dim; ++d) {
            const double part = p[key] * v[key * size.v_dim + d];
            out[d] += part;
            squares[d] += part * part;
          }
        for (std::size_t d = 0; d < size.v_dim; ++d)
          comparison.add(operands.out(((first + row) * size.heads + head) * size.v_dim + d), out[d],
                         rounding * (2 * std::abs(out[d]) + deviations * std::sqrt(squares[d])), where("out"));
      }
    }
  return comparison;
}

}  // namespace rapt::sim::validate
