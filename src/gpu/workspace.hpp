// Device memory for one call.
#pragma once

#include "gpu/gpu.hpp"

namespace rapt::gpu {

// The caller's workspace, or memory that the stream allocates and frees.
class Workspace {
 public:
  // Throws Error if the caller's is too small.
  Workspace(size_t bytes, const Launch& launch, const Device& device);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  char* data() const { return data_; }  // null if the call needs none

  // Call it after the last launch: the stream frees the memory when the kernels are done.
  void free();

 private:
  const Device& device_;
  const Stream stream_;
  char* data_ = nullptr;
  void* own_ = nullptr;
};

}  // namespace rapt::gpu
