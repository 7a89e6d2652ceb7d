// The arguments of kernels, from a validated call.
#pragma once

#include "gpu/device.hpp"
#include "gpu/gpu.hpp"
#include "kernels/abi.h"
#include "problem/call.hpp"

namespace rapt::gpu {

rapt_forward_args forward_args(const ForwardCall& call, const PassKernel& kernel, const Device& device);
rapt_split_args split_args(const ForwardCall& call, const Pass& pass, const Device& device, char* workspace);
// backward_args() fills what all stages share, set_stage() what one stage has of its own.
rapt_backward_args backward_args(const BackwardCall& call, const Pass& pass, const Device& device, char* workspace);
void set_stage(const BackwardCall& call, const PassKernel& kernel, const Device& device, rapt_backward_args& a);

// Throws Error if a tensor is in memory that the device cannot reach: host memory that its driver does not know, or
// another device's. Checked in every call, because memory may be freed and reused between calls.
void check_pointers(const ForwardCall& call, const Device& device);
void check_pointers(const BackwardCall& call, const Device& device);
void check_workspace(const void* workspace, const Device& device);

}  // namespace rapt::gpu
