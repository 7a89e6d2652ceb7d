// The arguments of a kernel.
#pragma once

#include "kernels/abi.h"
#include "kernels/amd/isa/device.hpp"

namespace rapt::amd {

// In constant memory, where scalar loads read them.
template <class T>
using Constant = const __attribute__((address_space(4))) T;
using Arguments = Constant<rapt_forward_args>;
using SplitArguments = Constant<rapt_split_args>;
using BackwardArguments = Constant<rapt_backward_args>;
using Problem = Constant<rapt_abi_problem>;

template <class T = Arguments>
DEVICE T& arguments() {
  return *(T*)__builtin_amdgcn_kernarg_segment_ptr();
}

// An element at an address that is the same in all lanes, of memory that no kernel writes meanwhile.
DEVICE int load_uniform(const int32_t* p) {
  return *reinterpret_cast<Constant<int32_t>*>(reinterpret_cast<uint64_t>(p));
}

// Arguments read through an opaque copy are loaded again where they are needed, which keeps SGPR pressure low.
template <class T>
DEVICE Constant<T>& opaque_copy(Constant<T>& a) {
  auto address = reinterpret_cast<uint64_t>(&a);
  asm volatile("" : "+s"(address));
  return *reinterpret_cast<Constant<T>*>(address);
}

}  // namespace rapt::amd
