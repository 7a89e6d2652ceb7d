// The correctness rule of docs/architecture.md, for the command and the tests: a result X of a backend may be off by
//   max|X - X64| <= 2 * max|X_plain - X64| + 4 u (1 + max|logit|) * max|X64|,   u = 2^-24
// and lse by 2 * max|lse_plain - lse64| + 4 u (1 + max|logit|) + 1e-6. The gradients of X and X_plain are those of
// X_plain's out and lse.
#pragma once

#include <string_view>

#include "rapt/rapt.h"

namespace rapt::cli {

// largest_value: of the finite ones of X64.
inline double allowance(std::string_view tensor, double plain_error, double largest_value, double largest_logit) {
  constexpr double kRoundoff = 0x1p-24;
  const double logits = 4 * kRoundoff * (1 + largest_logit);
  return 2 * plain_error + (tensor == "lse" ? logits + 1e-6 : logits * largest_value);
}

// Does the float64 backward pass get X_plain's out, or its own? Rounding out to 16 bits changes delta, and with it
// every backend's gradients in the same way, so it is not an error of theirs. A float32 out is as accurate as float32
// sums.
inline bool gradients_of_plain_out(rapt_dtype dtype) { return dtype.bits == 16; }

}  // namespace rapt::cli
