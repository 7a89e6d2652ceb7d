// The parts of HIP's binary interface that the driver calls, declared here so that no ROCm is needed to build. Numbers
// and layouts are from ROCm 5, 6 and 7; if they differ, the names say which.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rapt::gpu {

using HipError = int;
using HipModule = void*;
using HipFunction = void*;
using HipStream = void*;
using HipEvent = void*;

inline constexpr HipError kHipSuccess = 0;
inline constexpr HipError kHipErrorInvalidValue = 1;
inline constexpr HipError kHipErrorOutOfMemory = 2;
inline constexpr HipError kHipErrorNoDevice = 100;
inline constexpr HipError kHipErrorNotSupported = 801;

// The keys of hipModuleLaunchKernel's `extra`: the arguments as bytes, and their number.
inline void* const kHipLaunchBuffer = reinterpret_cast<void*>(1);
inline void* const kHipLaunchBufferSize = reinterpret_cast<void*>(2);
inline void* const kHipLaunchEnd = reinterpret_cast<void*>(3);

// hipMemcpyDefault: HIP derives the direction from the pointers.
inline constexpr int kHipMemcpyDefault = 4;

// hipDeviceAttribute_t
inline constexpr int kHipAttributeMultiprocessorCount = 63;
inline constexpr int kHipAttributePageableMemoryAccess = 65;
inline constexpr int kHipAttributePhysicalMultiprocessorCount =
    10015;  // on RDNA, the other attributes count pairs of compute units
inline constexpr int kHipAttributeNumberOfXccs = 10018;

// hipDeviceProp_t: only gcnArchName is read, and every release's struct fits.
inline constexpr size_t kHipPropertiesBytes = 8192;
inline constexpr size_t kGcnArchNameR0000 = 396;   // hipGetDeviceProperties
inline constexpr size_t kGcnArchNameR0600 = 1160;  // hipGetDevicePropertiesR0600, since ROCm 6
inline constexpr size_t kGcnArchNameBytes = 256;

// hipPointerAttribute_t
struct HipPointerAttributes {
  int type;  // hipMemoryType; its numbers differ between releases, so the pointers below are asked instead
  int device;
  void* device_pointer;  // null: memory that HIP does not know
  void* host_pointer;
  int is_managed;
  unsigned allocation_flags;
};

// Functions by name, result first. The optional ones came with a later release, or are called where one is missing.
// clang-format off
#define RAPT_HIP_FUNCTIONS(required, optional)                                                                        \
  required(const char*, hipGetErrorName, (HipError))                                                                  \
  required(const char*, hipGetErrorString, (HipError))                                                                \
  required(HipError, hipGetLastError, ())                                                                             \
  required(HipError, hipRuntimeGetVersion, (int*))                                                                    \
  required(HipError, hipGetDeviceCount, (int*))                                                                       \
  required(HipError, hipGetDevice, (int*))                                                                            \
  required(HipError, hipSetDevice, (int))                                                                             \
  required(HipError, hipDeviceGetName, (char*, int, int))                                                             \
  required(HipError, hipDeviceGetAttribute, (int*, int, int))                                                         \
  required(HipError, hipDeviceTotalMem, (size_t*, int))                                                               \
  required(HipError, hipDeviceSynchronize, ())                                                                        \
  required(HipError, hipPointerGetAttributes, (HipPointerAttributes*, const void*))                                   \
  required(HipError, hipMalloc, (void**, size_t))                                                                     \
  required(HipError, hipFree, (void*))                                                                                \
  required(HipError, hipMemcpy, (void*, const void*, size_t, int))                                                    \
  required(HipError, hipMemcpyAsync, (void*, const void*, size_t, int, HipStream))                                    \
  required(HipError, hipMemsetAsync, (void*, int, size_t, HipStream))                                                 \
  required(HipError, hipMemset2DAsync, (void*, size_t, int, size_t, size_t, HipStream))                               \
  required(HipError, hipStreamSynchronize, (HipStream))                                                               \
  required(HipError, hipStreamIsCapturing, (HipStream, int*))                                                         \
  required(HipError, hipModuleLoadData, (HipModule*, const void*))                                                    \
  required(HipError, hipModuleGetFunction, (HipFunction*, HipModule, const char*))                                    \
  required(HipError, hipModuleLaunchKernel, (HipFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                                             unsigned, HipStream, void**, void**))                                    \
  required(HipError, hipEventCreate, (HipEvent*))                                                                     \
  required(HipError, hipEventDestroy, (HipEvent))                                                                     \
  required(HipError, hipEventRecord, (HipEvent, HipStream))                                                           \
  required(HipError, hipEventSynchronize, (HipEvent))                                                                 \
  required(HipError, hipEventElapsedTime, (float*, HipEvent, HipEvent))                                               \
  optional(HipError, hipGetDeviceProperties, (void*, int))                                                            \
  optional(HipError, hipGetDevicePropertiesR0600, (void*, int))                                                       \
  optional(HipError, hipMallocAsync, (void**, size_t, HipStream))                                                     \
  optional(HipError, hipFreeAsync, (void*, HipStream))                                                                \
  optional(const char*, rapt_sim_name, ())                                                                            \
  optional(const char*, rapt_sim_time_model, ())
// clang-format on

}  // namespace rapt::gpu
