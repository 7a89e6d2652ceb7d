// The correctness rule of docs/architecture.md, for the command and the tests.
#pragma once

#include <string>

#include "cli/inputs/make.hpp"

namespace rapt::cli {

// One result compared with X64. NaN and infinities must be at the same places.
struct Measure {
  std::string tensor;
  double error = 0, allowance = 0;  // error is infinite if a check below fails
  int64_t misplaced = 0;            // elements where only one of X and X64 is NaN or infinite, or the infinities differ
  bool gaps_untouched = true;

  bool ok() const { return misplaced == 0 && gaps_untouched && error <= allowance; }
  double ratio() const { return error == 0 ? 0 : error / allowance; }
  std::string text() const;
};

// exact: X64. plain: X_plain, in the type of x.
Measure measure(std::string tensor, const Array& x, const Array& plain, const Array& exact, double largest_logit);

// The largest magnitude among the finite final logits that the masks keep, sinks included, in float64.
double largest_logit(const rapt_problem& problem, const MadeTensors& tensors);

// True if the float64 backward pass gets X_plain's out, not its own. Rounding out to 16 bits changes delta, and so
// every backend's gradients in the same way: that is no error of a backend. A float32 out is as accurate as float32
// sums.
inline bool gradients_of_plain_out(rapt_dtype dtype) { return dtype.bits == 16; }

}  // namespace rapt::cli
