// The arguments of kernels that read their tensors by maps (kernels/hopper).
#pragma once

#include "gpu/choose.hpp"
#include "kernels/abi.h"
#include "problem/call.hpp"

namespace rapt::gpu {

// Why the problem's tensors cannot be described by maps, or the kernels that read them lack something; "" if they can.
std::string hopper_refusal(const Needs& n);

rapt_hopper_forward_args hopper_forward_args(const ForwardCall& call, const PassKernel& planned, const Variant& kernel,
                                             const Device& device);

}  // namespace rapt::gpu
