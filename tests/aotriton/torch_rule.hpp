// The tolerance of PyTorch's own tests of scaled_dot_product_attention (check_out_and_grad of
// test/test_transformers.py): the largest error is at most `factor` times the plain formula's in PyTorch, and at least
// 1e-5 is always allowed. The formula computes in float32 and rounds its results; both are compared with it in a higher
// type.
#pragma once

#include <string>
#include <vector>

#include "support/run.hpp"

namespace test {

struct TorchMeasure {
  std::string tensor;
  double error = 0, plain_error = 0, factor = 0;

  bool ok() const { return error <= allowance(); }  // false for NaN too
  double allowance() const;
  std::string text() const;
};

class TorchRule {
 public:
  explicit TorchRule(const Inputs& inputs);
  std::vector<TorchMeasure> measure(const Results& results) const;  // lse is not among them

 private:
  Results exact_, plain_;
};

}  // namespace test
