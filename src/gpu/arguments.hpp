// What a forward kernel is told, from a validated call.
#pragma once

#include "gpu/archive.hpp"
#include "gpu/device.hpp"
#include "kernels/abi.h"
#include "problem/call.hpp"

namespace rapt::gpu {

rapt_forward_args forward_args(const ForwardCall& call, const Variant& variant, const Device& device);

// Throws Error where a tensor lies in memory that the device cannot reach: host memory that its driver does not know,
// or another device's. Asked for each call: a pointer says nothing of what it pointed to in the last one.
void check_pointers(const ForwardCall& call, const Device& device);

}  // namespace rapt::gpu
