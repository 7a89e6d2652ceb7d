// The command's tensors, which are the tests' too.
#pragma once

#include "cli/inputs/array.hpp"

namespace test {

using rapt::kBf16, rapt::kBool, rapt::kFp16, rapt::kFp32, rapt::kFp64, rapt::kInt32, rapt::kUint8;
using rapt::cli::Last, rapt::cli::Layout;
using Tensor = rapt::cli::Array;

}  // namespace test
