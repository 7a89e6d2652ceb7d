// Attention backward in double (Dao et al., "FlashAttention", 2022, appendix B.4). With dP = dO V^T and delta =
// rowsum(dO * O), dS = P (dP - delta). Then dV = P^T dO, dQ = scale dS K, and dK = scale dS^T Q.
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

// The logarithm of each row's softmax divisor, and delta: [tokens, heads].
struct RowStatistics {
  std::vector<float> lse, delta;
};

RowStatistics row_statistics(const AttentionSize& size, const AttentionGradients& operands);

// A rounding to bf16 has a relative error of up to `rounding`.
Comparison compare_gradients(const AttentionSize& size, const AttentionGradients& operands, double rounding);

}  // namespace rapt::sim::validate
