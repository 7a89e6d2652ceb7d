// The kernels as compiled for RAPT_TIER. Each tiers/*.cpp includes this once.
#pragma once

#include "cpu/cpu.hpp"
#include "cpu/tiers/backward.hpp"
#include "cpu/tiers/forward.hpp"

namespace rapt::cpu::RAPT_TIER {

extern const Kernels kKernels;
const Kernels kKernels = {forward_kernel, backward_kernel, forward_workspace, backward_workspace, forward, backward};

}  // namespace rapt::cpu::RAPT_TIER
