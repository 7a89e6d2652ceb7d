// The correctness rule of docs/architecture.md, for the command and the tests.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cli/inputs/make.hpp"

namespace rapt::cli {

// One result compared with X64. NaN and infinities must be at the same places.
struct Measure {
  std::string tensor;
  double error = 0, allowance = 0;  // of the element that is closest to its own; infinite if a check below fails
  int64_t misplaced = 0;            // elements where only one of X and X64 is NaN or infinite, or the infinities differ
  bool gaps_untouched = true;

  bool ok() const { return misplaced == 0 && gaps_untouched && error <= allowance; }
  double ratio() const { return error == 0 ? 0 : error / allowance; }
  std::string text() const;
};

// What float32 may lose of each element of a result, from the terms of its own sums; by the result's name.
using Bounds = std::map<std::string, std::vector<double>>;

// dout is null if no gradient is measured, and out unless the gradients of float64 get this one.
Bounds bounds_of(const rapt_problem& problem, const MadeTensors& tensors, const Array* dout = nullptr,
                 const Array* out = nullptr);

// exact: X64. plain: X_plain, in the type of x.
Measure measure(std::string tensor, const Array& x, const Array& plain, const Array& exact, const Bounds& bounds);

// The largest relative error of a rounding to a type; no type counts as more exact than fp32.
inline double unit_of(rapt_dtype dtype) {
  return dtype.bits > 16 ? 0x1p-24 : dtype.code == RAPT_BFLOAT ? 0x1p-8 : 0x1p-11;
}

// The largest error of a rounding of x.
inline double rounding(rapt_dtype dtype, double x) {
  const double least = dtype.bits > 16 ? 0x1p-150 : dtype.code == RAPT_BFLOAT ? 0x1p-134 : 0x1p-25;
  return std::min(std::max(unit_of(dtype) * x, least), x);
}

// True if the float64 backward pass gets X_plain's out, not its own. Rounding out to 16 bits changes delta, and so
// every backend's gradients in the same way: that is no error of a backend. A float32 out is as accurate as float32
// sums.
inline bool gradients_of_plain_out(rapt_dtype dtype) { return dtype.bits == 16; }

}  // namespace rapt::cli
