// Device memory beside the tensors of a call. All work on it is in the order of the stream.
#pragma once

#include "aotriton/call/call.hpp"
#include "aotriton/hip/devices.hpp"

namespace rapt::aot {

// Memory that the stream allocates, and frees after the work launched so far.
class Scratch {
 public:
  Scratch(const Device& device, HipStream stream) : device_(device), stream_(stream) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Error allocate(size_t bytes);
  void* data() const { return data_; }

 private:
  const Device& device_;
  const HipStream stream_;
  void* data_ = nullptr;
};

// Bytes of 255 are a NaN of every type. Memory between a tensor's elements is not written.
void fill_nan(const T4& t, HipStream stream);
void fill_nan(const T2& t, HipStream stream);

}  // namespace rapt::aot
