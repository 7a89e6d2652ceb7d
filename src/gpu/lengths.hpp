// Lengths of sequences: put where kernels can read them, and checked.
#pragma once

#include "gpu/gpu.hpp"

namespace rapt::gpu {

// The device memory that copies of cu_seqlens need.
size_t lengths_bytes(int64_t batch);

// Copies cu_seqlens that are in host memory to `to`, lengths_bytes() of device memory, in stream order, and sets the
// call's pointers to the copies.
void copy_lengths(Call& call, char* to, const Device& device, Stream stream);

// True if the caller, or RAPT_CHECK=lengths, asks for lengths in device memory to be checked.
bool are_checked(const Call& call);

// Reads lengths, pages and cache rows in device memory, waiting for the stream, and validates them. Throws Error.
void check_device_lengths(Call call, const Device& device, Stream stream);

}  // namespace rapt::gpu
