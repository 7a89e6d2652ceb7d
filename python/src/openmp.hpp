#pragma once

#include <cstdint>

#include "rapt/rapt.h"

namespace rapt::python {

// Runs on that many threads of the OpenMP run-time that the process already has, as PyTorch does. Its threads spin for
// a while after their work, so another pool would have to share their cores. Null if the process has no OpenMP, and in
// a forked child.
const rapt_executor* openmp_executor(int32_t threads);

}  // namespace rapt::python
