// The arguments of a kernel, in constant memory.
#pragma once

#include "kernels/abi.h"
#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

using Arguments = const rapt_forward_args;
using SplitArguments = const rapt_split_args;
using BackwardArguments = const rapt_backward_args;
using Problem = const rapt_abi_problem;

// An element that is the same in all lanes, in memory that no kernel writes meanwhile.
DEVICE int load_uniform(const int32_t* p) { return __ldg(p); }

}  // namespace rapt::nvidia
