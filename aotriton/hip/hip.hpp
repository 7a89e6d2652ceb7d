// Functions of HIP that Rapt itself does not call, from the library that Rapt opens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aotriton/abi/types.hpp"

namespace rapt::aot {

using HipResult = int;  // 0: success
using HipStream = ihipStream_t*;

#define RAPT_AOT_HIP_FUNCTIONS(X)                                                                                    \
  X(hipGetDevice, (int* device))                                                                                     \
  X(hipSetDevice, (int device))                                                                                      \
  X(hipStreamGetDevice, (HipStream stream, int* device)) /* absent before ROCm 5.5 */                                \
  X(hipStreamIsCapturing, (HipStream stream, int* status))                                                           \
  X(hipMemsetAsync, (void* to, int byte, size_t bytes, HipStream stream))                                            \
  X(hipMemset2DAsync, (void* to, size_t pitch, int byte, size_t width, size_t height, HipStream s))                  \
  X(hipMallocAsync, (void** data, size_t bytes, HipStream stream))                                                   \
  X(hipFreeAsync, (void* data, HipStream stream))                                                                    \
  X(hipModuleLoadData, (void** module, const void* image))                                                           \
  X(hipModuleGetFunction, (void** function, void* module, const char* name))                                         \
  X(hipModuleLaunchKernel,                                                                                           \
    (void* function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, unsigned threads_z, \
     unsigned shared, HipStream stream, void** parameters, void** extra))                                            \
  X(hipGetLastError, ())

struct Hip {
  explicit Hip(const char* file);  // `complete` is false if it cannot be opened or lacks a function
  bool complete = false;

// NOLINTNEXTLINE(bugprone-macro-parentheses): they are a name and a list
#define RAPT_AOT_DECLARE(name, arguments) HipResult(*name) arguments = nullptr;
  RAPT_AOT_HIP_FUNCTIONS(RAPT_AOT_DECLARE)
#undef RAPT_AOT_DECLARE

  // kSuccess, or a failure that says that `what` failed.
  aotriton::Error check(HipResult result, const char* what) const;
  bool capturing(HipStream stream) const;
};

}  // namespace rapt::aot
