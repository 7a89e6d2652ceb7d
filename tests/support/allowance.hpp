// The correctness rule of cli/verify/rule.hpp, with X64 from the math backend in float64 and X_plain from the math
// backend in the tensors' own type. NaN and infinities must be at the same places. The gradients to be measured are
// those of plain()'s out and lse.
#pragma once

#include <string>
#include <vector>

#include "support/run.hpp"

namespace test {

struct Measure {
  std::string tensor;
  double error = 0, allowance = 0;
  int64_t misplaced = 0;  // elements where exactly one of X and X64 is NaN or infinite, or the infinities differ
  bool gaps_untouched = true;
  bool ok() const { return misplaced == 0 && gaps_untouched && error <= allowance; }
  std::string text() const;
};

// The yardstick of some inputs, computed once for all backends.
class Oracle {
 public:
  explicit Oracle(const Inputs& inputs);

  std::vector<Measure> measure(const Results& results) const;
  const Results& exact() const { return exact_; }  // X64
  const Results& plain() const { return plain_; }  // X_plain

 private:
  double max_logit_;
  Results plain_, exact_;
};

}  // namespace test
