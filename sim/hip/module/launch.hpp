// Checks of a launch, and its arguments as the kernel reads them.
#pragma once

#include "sim/hip/runtime.hpp"
#include "sim/hip/stream/work.hpp"

namespace rapt::sim::hip {

struct LaunchShape {
  Dim3 grid, block;  // in workgroups; in work-items
  std::size_t dynamic_lds = 0;
};

// Exactly one of arguments and extra, unless the kernel has none.
KernelWork make_launch(const std::shared_ptr<Function>& function, const LaunchShape& shape, void** arguments,
                       void** extra);
// For a grid counted in work-items, whose last workgroups may be smaller.
KernelWork make_ragged_launch(const std::shared_ptr<Function>& function, Dim3 work_items, Dim3 block,
                              std::size_t dynamic_lds, void** arguments, void** extra);

// How many workgroups of the size fit in a compute unit.
unsigned groups_per_unit(const Function& function, const Device& device, unsigned group_size, std::size_t dynamic_lds);
// On RDNA HIP counts workgroup processors, which have two compute units each.
unsigned multiprocessors(const Properties& properties);
// Fails if a cooperative launch has more workgroups than fit on the device.
void check_cooperative(const KernelWork& work, const Device& device);

}  // namespace rapt::sim::hip
