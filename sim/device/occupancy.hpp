// How many workgroups of a kernel a compute unit holds at once, by registers and LDS, counted as in LLVM's kernel
// resource usage.
#pragma once

#include "sim/isa/properties.hpp"
#include "sim/loader/code_object.hpp"

namespace rapt::sim {

// HIP's multiprocessors: on RDNA, one is two compute units. 0 if the group does not fit.
unsigned groups_per_multiprocessor(const Kernel& kernel, const Properties& properties, unsigned group_size,
                                   std::size_t dynamic_lds);

// Whether the waves of a group are all on one compute unit: on RDNA only if the kernel was compiled with -mcumode.
bool on_one_unit(const Kernel& kernel, const Properties& properties);

}  // namespace rapt::sim
