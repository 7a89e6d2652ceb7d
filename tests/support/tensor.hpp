// The tests use the command's tensors.
#pragma once

#include <cstring>

#include "cli/inputs/array.hpp"

namespace test {

using rapt::kBf16, rapt::kBool, rapt::kFp16, rapt::kFp32, rapt::kFp64, rapt::kInt32, rapt::kUint8;
using rapt::cli::Last, rapt::cli::Layout;
using Tensor = rapt::cli::Array;

inline const std::byte* element(const Tensor& t, int64_t index) {
  int64_t at = 0;
  for (size_t i = t.shape().size(); i-- > 0; index /= t.shape()[i]) at += index % t.shape()[i] * t.strides()[i];
  return t.first() + at * (t.dtype().bits / 8);
}

// Bit for bit, in any layouts.
inline bool same_elements(const Tensor& x, const Tensor& y) {
  if (x.shape() != y.shape() || x.dtype().bits != y.dtype().bits) return false;
  for (int64_t i = 0; i < x.count(); ++i)
    if (std::memcmp(element(x, i), element(y, i), x.dtype().bits / 8) != 0) return false;
  return true;
}

}  // namespace test
