// The correctness rule of docs/architecture.md, for the command and the tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

// How large the terms of the sums are that cancel in dP - delta, as errors of these gradients.
struct Cancelled {
  double dq = 0, dk = 0;
  double clear_dq = 0;  // of rows that are not vague
};

// What the inputs say of a problem's results, in float64.
struct Bounds {
  static constexpr double kVague = 0x1p-4;  // a relative error of the weights from which on `spread` counts

  // The largest magnitude among the finite final logits that the masks keep, sinks included. A logit whose weight is
  // exactly 0 in float32 counts with its scaled product alone, without bias and ALiBi. A sink of no weight does not.
  double largest_logit = 0;
  // Whether a row's own logits make its weights vague, for each row in the order of lse. Empty if no row is vague.
  std::vector<bool> vague_rows;
  double clear_logit = 0;  // largest_logit of the other rows
  // How far out can move, however wrong the weights are.
  double spread = 0;
  // How large each result can be if every weight is anything from 0 to 1.
  double out = 0, dq = 0, dk = 0, dv = 0, dbias = 0, dsink = 0;

  // Slow, and seldom needed. Empty if no gradient is measured, or with dropout.
  std::function<Cancelled()> cancelled;

  double reach(const std::string& tensor) const;
};

// dout is null if no gradient is measured.
Bounds bounds_of(const rapt_problem& problem, const MadeTensors& tensors, const Array* dout);

// What any float32 sum of the logits may lose, as an error of each logit.
inline double logit_slack(double largest_logit) { return 4 * 0x1p-24 * (1 + largest_logit); }

// exact: X64. plain: X_plain, in the type of x.
Measure measure(std::string tensor, const Array& x, const Array& plain, const Array& exact, const Bounds& bounds);

// True if the float64 backward pass gets X_plain's out, not its own. Rounding out to 16 bits changes delta, and so
// every backend's gradients in the same way: that is no error of a backend. A float32 out is as accurate as float32
// sums.
inline bool gradients_of_plain_out(rapt_dtype dtype) { return dtype.bits == 16; }

}  // namespace rapt::cli
