// Additive masks often use the lowest number of float32 or bf16 for -inf. Such a key has no weight beside other keys. A
// row of only such keys has equal logits, because q k^T is lost when added: out is the mean of V, and lse is the lowest
// number.
#pragma once

#include "support/run.hpp"

namespace test {

struct LeastBias {
  // With a bias of one row a query, batch 1.
  explicit LeastBias(const std::string& problem, rapt_dtype of_bias = kFp32);

  Inputs inputs;
  Inputs like;  // the same weights without such numbers: a row of only such keys has q = 0 and no bias

  bool only_least(int64_t query) const { return query % 3 == 0; }  // such rows have dout = 0

  // Replaces lse of such rows, which must be the lowest number, by that of `expected` (a result of `like`).
  void check_lse(Results& results, const Results& expected) const;

 private:
  void fill_bias(Inputs& to, double of_row, double of_key) const;

  rapt_dtype of_bias_;
  double least_;
};

}  // namespace test
