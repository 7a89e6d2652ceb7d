// Attention backward in double: dV = P^T dO, dS = P (dP - delta) with dP = dO V^T and delta = rowsum(dO * O), dQ =
// scale dS K, dK = scale dS^T Q (Dao et al., "FlashAttention", 2022, appendix B.4).
#pragma once

#include "sim/validate/families/attention.hpp"

namespace rapt::sim::validate {

// Rows as in AttentionOperands, with as many heads of k and v as of q.
struct AttentionGradients {
  using Element = AttentionOperands::Element;
  Element q, k, v, dout;
  Element dk, dv;
  std::function<double(std::size_t token, std::size_t head, std::size_t d)> dq;
};

// Of each row, [tokens, heads]: the logarithm of its softmax's divisor, and delta.
struct RowStatistics {
  std::vector<float> lse, delta;
};

RowStatistics row_statistics(const AttentionSize& size, const AttentionGradients& operands);

// A rounding to bf16 has a relative error of up to `rounding`.
Comparison compare_gradients(const AttentionSize& size, const AttentionGradients& operands, double rounding);

}  // namespace rapt::sim::validate
