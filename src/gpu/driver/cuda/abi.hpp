// The parts of the CUDA driver's binary interface that the driver calls, declared here so that no CUDA is needed to
// build. Names, numbers and layouts are as in CUDA 13's cuda.h; a suffix such as _v2 is part of a function's name.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rapt::gpu {

using CudaError = int;  // CUresult
using CudaContext = void*;
using CudaModule = void*;
using CudaFunction = void*;
using CudaStream = void*;
using CudaEvent = void*;
using CudaPool = void*;        // CUmemoryPool
using CudaAddress = uint64_t;  // CUdeviceptr

inline constexpr CudaError kCudaSuccess = 0;
inline constexpr CudaError kCudaErrorOutOfMemory = 2;
inline constexpr CudaError kCudaErrorNoDevice = 100;

// CUdevice_attribute
inline constexpr int kCudaAttributeMultiprocessorCount = 16;
inline constexpr int kCudaAttributeL2CacheSize = 38;
inline constexpr int kCudaAttributeComputeCapabilityMajor = 75;
inline constexpr int kCudaAttributeComputeCapabilityMinor = 76;
inline constexpr int kCudaAttributePageableMemoryAccess = 88;
inline constexpr int kCudaAttributeMaxSharedMemoryPerBlockOptin = 97;

// CUpointer_attribute, and CUmemorytype
inline constexpr int kCudaPointerMemoryType = 2, kCudaPointerIsManaged = 8, kCudaPointerDeviceOrdinal = 9;
inline constexpr int kCudaPointerRangeStart = 11, kCudaPointerRangeSize = 12;
inline constexpr unsigned kCudaMemoryUnknown = 0, kCudaMemoryHost = 1;

// CUfunction_attribute
inline constexpr int kCudaFunctionSharedBytes = 1, kCudaFunctionMaxDynamicSharedBytes = 8;

// The keys of cuLaunchKernelEx's `extra`: the arguments as bytes, and their number.
inline void* const kCudaLaunchBuffer = reinterpret_cast<void*>(1);
inline void* const kCudaLaunchBufferSize = reinterpret_cast<void*>(2);
inline void* const kCudaLaunchEnd = reinterpret_cast<void*>(0);

// CUlaunchAttributeID
inline constexpr int kCudaLaunchClusterDimension = 4, kCudaLaunchOverlaps = 6;

struct CudaLaunchAttribute {  // CUlaunchAttribute
  int id;
  char padding[4];
  union {
    struct {
      unsigned x, y, z;
    } cluster;
    int overlaps;
    char bytes[64];
  } value;
};
static_assert(sizeof(CudaLaunchAttribute) == 72);

struct CudaLaunchConfig {  // CUlaunchConfig
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CudaStream stream;
  CudaLaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(CudaLaunchConfig) == 56 && offsetof(CudaLaunchConfig, stream) == 32);

inline constexpr unsigned kCudaEventDefault = 0;

// CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill
inline constexpr int kCudaTensorFloat16 = 6, kCudaTensorBfloat16 = 9;
inline constexpr int kCudaNoInterleave = 0, kCudaSwizzle128Bytes = 3, kCudaL2Promotion128Bytes = 2, kCudaFillZeros = 0;

// CUmemAllocationType, CUmemLocationType, CUmemPool_attribute
inline constexpr int kCudaPinnedMemory = 1, kCudaLocationDevice = 1, kCudaPoolReleaseThreshold = 4;

struct CudaPoolProperties {  // CUmemPoolProps
  int allocation_type, handle_types;
  struct {
    int type, id;
  } location;
  void* security_attributes;
  size_t most;  // 0: the device's memory
  char reserved[56];
};
static_assert(sizeof(CudaPoolProperties) == 88);

// Functions by name, result first.
// clang-format off
#define RAPT_CUDA_FUNCTIONS(function)                                                                 \
  function(CudaError, cuGetErrorName, (CudaError, const char**))                                      \
  function(CudaError, cuGetErrorString, (CudaError, const char**))                                    \
  function(CudaError, cuInit, (unsigned))                                                             \
  function(CudaError, cuDriverGetVersion, (int*))                                                     \
  function(CudaError, cuDeviceGetCount, (int*))                                                       \
  function(CudaError, cuDeviceGetName, (char*, int, int))                                             \
  function(CudaError, cuDeviceGetAttribute, (int*, int, int))                                         \
  function(CudaError, cuDeviceTotalMem_v2, (size_t*, int))                                            \
  function(CudaError, cuDevicePrimaryCtxRetain, (CudaContext*, int))                                  \
  function(CudaError, cuCtxGetCurrent, (CudaContext*))                                                \
  function(CudaError, cuCtxSetCurrent, (CudaContext))                                                 \
  function(CudaError, cuCtxGetDevice, (int*))                                                         \
  function(CudaError, cuCtxSynchronize, ())                                                           \
  function(CudaError, cuMemAlloc_v2, (CudaAddress*, size_t))                                          \
  function(CudaError, cuMemFree_v2, (CudaAddress))                                                    \
  function(CudaError, cuMemPoolCreate, (CudaPool*, const CudaPoolProperties*))                        \
  function(CudaError, cuMemPoolSetAttribute, (CudaPool, int, void*))                                  \
  function(CudaError, cuMemAllocFromPoolAsync, (CudaAddress*, size_t, CudaPool, CudaStream))          \
  function(CudaError, cuMemFreeAsync, (CudaAddress, CudaStream))                                      \
  function(CudaError, cuMemcpy, (CudaAddress, CudaAddress, size_t))                                   \
  function(CudaError, cuMemcpyAsync, (CudaAddress, CudaAddress, size_t, CudaStream))                  \
  function(CudaError, cuMemsetD8Async, (CudaAddress, unsigned char, size_t, CudaStream))              \
  function(CudaError, cuMemsetD2D8Async, (CudaAddress, size_t, unsigned char, size_t, size_t, CudaStream)) \
  function(CudaError, cuPointerGetAttributes, (unsigned, const int*, void**, CudaAddress))            \
  function(CudaError, cuStreamSynchronize, (CudaStream))                                              \
  function(CudaError, cuStreamIsCapturing, (CudaStream, int*))                                        \
  function(CudaError, cuModuleLoadData, (CudaModule*, const void*))                                   \
  function(CudaError, cuModuleGetFunction, (CudaFunction*, CudaModule, const char*))                  \
  function(CudaError, cuFuncGetAttribute, (int*, int, CudaFunction))                                  \
  function(CudaError, cuFuncSetAttribute, (CudaFunction, int, int))                                   \
  function(CudaError, cuLaunchKernelEx, (const CudaLaunchConfig*, CudaFunction, void**, void**))      \
  function(CudaError, cuTensorMapEncodeTiled, (void*, int, unsigned, void*, const uint64_t*, const uint64_t*, \
           const unsigned*, const unsigned*, int, int, int, int))                                     \
  function(CudaError, cuEventCreate, (CudaEvent*, unsigned))                                          \
  function(CudaError, cuEventDestroy_v2, (CudaEvent))                                                 \
  function(CudaError, cuEventRecord, (CudaEvent, CudaStream))                                         \
  function(CudaError, cuEventSynchronize, (CudaEvent))                                                \
  function(CudaError, cuEventElapsedTime, (float*, CudaEvent, CudaEvent))
// clang-format on

}  // namespace rapt::gpu
