// Attention forward in double: out[q] = sum over keys of softmax(scale * q . k) * v, and the logarithm of its divisor.
#pragma once

#include "sim/validate/family.hpp"

namespace rapt::sim::validate {

struct AttentionSize {
  std::uint32_t batch, heads, heads_k, seqlen;
  std::uint32_t qk_dim, v_dim;
  bool causal;

  std::size_t tokens() const { return std::size_t{batch} * seqlen; }
  double scale() const;  // 1 / sqrt(qk_dim)
  double flops() const;  // two products; half of them if causal, as it is customary to count
};

// Operands and results are rows [tokens, heads, dim]; the problems of the batch lie one after the other.
struct AttentionOperands {
  using Element = std::function<double(std::size_t index)>;
  Element q, k, v, out;
  std::function<double(std::size_t token, std::size_t head)> lse;
};

// A rounding to bf16 has a relative error of up to `rounding`.
Comparison compare_attention(const AttentionSize& size, const AttentionOperands& operands, double rounding);

}  // namespace rapt::sim::validate
