// The arguments of a forward kernel, from a validated call.
#pragma once

#include "gpu/archive.hpp"
#include "gpu/device.hpp"
#include "kernels/abi.h"
#include "problem/call.hpp"

namespace rapt::gpu {

rapt_forward_args forward_args(const ForwardCall& call, const Variant& variant, const Device& device);

// Throws Error if a tensor is in memory that the device cannot reach: host memory that its driver does not know, or
// another device's. Checked in every call, because memory may be freed and reused between calls.
void check_pointers(const ForwardCall& call, const Device& device);

}  // namespace rapt::gpu
