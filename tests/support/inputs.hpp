// The tensors of one problem, as `rapt verify` makes them from the same seed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/inputs/make.hpp"
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
  int64_t seqlen_q(int64_t b) const { return rapt::cli::seqlen_q(c, b); }
  int64_t seqlen_k(int64_t b) const { return rapt::cli::seqlen_k(c, b); }
};

using Kind = rapt::cli::InputKind;

struct Inputs : rapt::cli::MadeTensors {
  explicit Inputs(const Problem& p) : problem(p) {}

  Problem problem;
  Tensor dout;
  uint64_t dropout_seed = 0x123456789ABCDEF, dropout_offset = 7;

  Inputs as(rapt_dtype dtype) const;  // the same values in another type (alibi slopes stay fp32)

  int64_t row_k(int64_t b, int64_t j) const { return key_row(problem.c, block_table, b, j); }
};

Inputs make_inputs(const Problem& problem, Kind kind = Kind::normal, Layout layout = Layout::compact,
                   uint64_t seed = 1);

}  // namespace test
