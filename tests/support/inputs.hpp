// The tensors of one problem, and what its formulas say about them, written from docs/naming.md for the tests alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/tensor.hpp"

namespace test {

template <class Struct>
Struct init() {
  Struct s = {};
  s.struct_size = sizeof(Struct);
  return s;
}

// A parsed problem text that owns its varlen pairs.
struct Problem {
  std::string text;
  rapt_problem c = {};
  std::vector<int64_t> varlen;

  explicit Problem(const std::string& text);  // throws std::runtime_error with rapt_last_error()
  Problem(const Problem& other) : text(other.text), c(other.c), varlen(other.varlen) { c.varlen = varlen.data(); }
  Problem& operator=(const Problem&) = delete;

  bool packed() const { return c.varlen_count > 0; }
  int64_t seqlen_q(int64_t b) const { return packed() ? varlen[2 * b] : c.seqlen_q; }
  int64_t seqlen_k(int64_t b) const { return packed() ? varlen[2 * b + 1] : c.seqlen_k; }
  int64_t first_q(int64_t b) const;  // rows of q before sequence b, all sequences on end
  int64_t first_k(int64_t b) const;
  int64_t group() const { return c.heads_q / c.heads_k; }
  double scale() const;
};

// What the numbers are.
enum class Kind {
  normal,         // standard normal
  outliers,       // a hundredth of q and k times 30
  huge_logits,    // logits beyond 1e4
  same_rows,      // all rows of q alike, and all of k
  constant_v,     // v is 1: out must be
  hostile_bias,   // rows of -inf, single -inf, large finite values
  masked_rows,    // whole rows masked
  poison_unseen,  // NaN and Inf in every row of k and v that no query attends
  poison_seen,    // NaN and Inf in keys that some queries attend and others do not
};

struct Inputs {
  explicit Inputs(const Problem& p) : problem(p) {}

  Problem problem;
  Tensor q, k, v, dout;
  Tensor bias, mask, alibi, sink;     // absent where the problem has none
  Tensor cu_seqlens_q, cu_seqlens_k;  // packed
  Tensor block_table, seqused_k;      // paged
  uint64_t dropout_seed = 0x123456789ABCDEF, dropout_offset = 7;

  Inputs as(rapt_dtype dtype) const;  // the same values in another type (alibi slopes stay fp32)

  int64_t row_k(int64_t b, int64_t j) const;  // row of k and v, counted over all but heads and head_dim
  bool attends(int64_t b, int64_t h, int64_t i, int64_t j) const;
  double max_logit() const;  // largest magnitude of the finite final logits, in float64
};

Inputs make_inputs(const Problem& problem, Kind kind = Kind::normal, Layout layout = Layout::compact,
                   uint64_t seed = 0);

}  // namespace test
