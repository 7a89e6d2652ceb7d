// cu_seqlens of packed sequences where kernels can read them.
#pragma once

#include "gpu/gpu.hpp"

namespace rapt::gpu {

// The device memory that a problem's cu_seqlens need: they are in host memory, and are copied. 0 if it has none there.
size_t lengths_bytes(const Problem& problem);

// cu_seqlens in host memory, copied in stream order: to the caller's workspace, or to memory that the stream allocates
// and frees. Sets the call's pointers to the copies.
class Lengths {
 public:
  Lengths(Call& call, size_t bytes, const Launch& launch, const Device& device);
  ~Lengths() { abandon(); }
  Lengths(const Lengths&) = delete;
  Lengths& operator=(const Lengths&) = delete;

  // After the last launch: the stream frees them when the kernels are done.
  void free(const Device& device);

 private:
  char* allocate(size_t bytes, const Device& device);
  void abandon();

  Driver& driver_;
  const Stream stream_;
  void* own_ = nullptr;
};

// Reads cu_seqlens in device memory, waiting for the stream, and validates them. Throws Error.
void check_device_lengths(const Call& call, const Device& device, Stream stream);

}  // namespace rapt::gpu
