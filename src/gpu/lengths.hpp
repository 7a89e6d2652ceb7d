// cu_seqlens of packed sequences where kernels can read them.
#pragma once

#include "gpu/gpu.hpp"

namespace rapt::gpu {

// The device memory that a problem's cu_seqlens need: they are in host memory, and are copied. 0 if it has none there.
size_t lengths_bytes(const Problem& problem);

// Copies cu_seqlens in host memory to lengths_bytes() of device memory at `to`, in stream order, and sets the call's
// pointers to the copies.
void copy_lengths(Call& call, char* to, const Device& device, Stream stream);

// Reads cu_seqlens in device memory, waiting for the stream, and validates them. Throws Error.
void check_device_lengths(const Call& call, const Device& device, Stream stream);

}  // namespace rapt::gpu
