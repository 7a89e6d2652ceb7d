// The tests use the command's tensors.
#pragma once

#include "cli/inputs/array.hpp"

namespace test {

using rapt::kBf16, rapt::kBool, rapt::kFp16, rapt::kFp32, rapt::kFp64, rapt::kInt32, rapt::kUint8;
using rapt::cli::Last, rapt::cli::Layout;
using Tensor = rapt::cli::Array;

bool same_elements(const Tensor& x, const Tensor& y);  // bit for bit, in any layouts

}  // namespace test
