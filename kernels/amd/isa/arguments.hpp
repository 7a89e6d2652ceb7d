// The arguments of a kernel.
#pragma once

#include "kernels/abi.h"
#include "kernels/amd/isa/device.hpp"

namespace rapt::amd {

// In constant memory, where scalar loads read them.
using Arguments = const __attribute__((address_space(4))) rapt_forward_args;
using Problem = const __attribute__((address_space(4))) rapt_abi_problem;

DEVICE Arguments& arguments() { return *(Arguments*)__builtin_amdgcn_kernarg_segment_ptr(); }

// Arguments read through an opaque copy are loaded again where they are needed, which keeps SGPR pressure low.
DEVICE Arguments& opaque_copy(Arguments& a) {
  auto address = reinterpret_cast<uint64_t>(&a);
  asm volatile("" : "+s"(address));
  return *reinterpret_cast<Arguments*>(address);
}

}  // namespace rapt::amd
