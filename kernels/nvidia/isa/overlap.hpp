// A kernel that starts before the one in front of it ends. PTX ISA, "griddepcontrol".
#pragma once

#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
// From now on the next kernel may start, if its launch allows that.
DEVICE void let_next_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
// Until the kernel in front has ended. What it stored is visible.
DEVICE void wait_for_previous() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
DEVICE void let_next_start() {}
DEVICE void wait_for_previous() {}
#endif

}  // namespace rapt::nvidia
