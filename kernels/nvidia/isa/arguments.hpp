// The arguments of a kernel, in constant memory.
#pragma once

#include "kernels/abi.h"
#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

using Arguments = const rapt_forward_args;
using BackwardArguments = const rapt_backward_args;
using Problem = const rapt_abi_problem;

}  // namespace rapt::nvidia
