// The arguments of a kernel, in constant memory.
#pragma once

#include "kernels/abi.h"
#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

using Arguments = const rapt_forward_args;

}  // namespace rapt::nvidia
