// libcuda, the driver's library, opened at run time on first use: Rapt neither links CUDA nor needs it to build.
#pragma once

#include <string>

#include "base/text.hpp"
#include "gpu/driver/cuda/abi.hpp"

namespace rapt::gpu {

class Cuda {
 public:
  // Opens the library that RAPT_CUDA_LIBRARY names, or else libcuda.so.1, and initialises it. Throws Error, with the
  // reason, if it does not open, lacks a function or is older than CUDA 13. It stays open until the process ends.
  Cuda();

  const std::string& path() const { return path_; }
  const std::string& runtime() const { return runtime_; }  // "CUDA driver 13.0"
  bool has_device() const { return has_device_; }

  // Throws Error with CUDA's own name and text of the failure, after `what` was being done: pieces of a sentence.
  template <class... Pieces>
  void check(CudaError error, const Pieces&... what) const {
    if (error != kCudaSuccess) fail(error, cat(what...));
  }
  [[noreturn]] void fail(CudaError error, const std::string& what) const;
  std::string describe(CudaError error) const;  // its name and text

// NOLINTNEXTLINE(bugprone-macro-parentheses): they are a type, a name and a list
#define RAPT_DECLARE(result, name, arguments) result(*name) arguments = nullptr;
  RAPT_CUDA_FUNCTIONS(RAPT_DECLARE)
#undef RAPT_DECLARE

 private:
  std::string path_, runtime_;
  bool has_device_ = false;
};

}  // namespace rapt::gpu
