// The references of the correctness rule (cli/rule/rule.hpp): X64 from the math backend in float64, and X_plain from
// the math backend in the tensors' own type. The measured gradients must be computed from given()'s out and lse.
#pragma once

#include <vector>

#include "cli/rule/rule.hpp"
#include "support/run.hpp"

namespace test {

using rapt::cli::Measure;

// The references of some inputs, computed once for all backends.
class Oracle {
 public:
  explicit Oracle(const Inputs& inputs);

  std::vector<Measure> measure(const Results& results) const;
  const Results& exact() const { return exact_; }  // X64
  const Results& plain() const { return plain_; }  // X_plain
  const Results& given() const { return given_; }  // out and lse that all backward passes get
  const rapt::cli::Bounds& bounds() const { return bounds_; }

 private:
  rapt::cli::Bounds bounds_;
  Results plain_, exact_, given_;
};

}  // namespace test
