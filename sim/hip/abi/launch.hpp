// Functions, launches, streams and events.
#pragma once

#include "sim/hip/abi/types.hpp"

namespace rapt::sim::hip {

// hipFuncAttributes
struct FunctionAttributes {
  int binary_version, cache_mode_ca;
  std::size_t const_size_bytes, local_size_bytes;
  int max_dynamic_shared_size_bytes, max_threads_per_block, num_regs, preferred_shmem_carveout, ptx_version;
  std::size_t shared_size_bytes;
};

enum FunctionAttribute : int {
  function_max_threads_per_block,
  function_shared_size_bytes,
  function_const_size_bytes,
  function_local_size_bytes,
  function_num_regs,
  function_ptx_version,
  function_binary_version,
  function_cache_mode_ca,
  function_max_dynamic_shared_size_bytes,
  function_preferred_shared_memory_carveout,
  function_attribute_max,
};

// The markers of hipModuleLaunchKernel's `extra`.
inline constexpr std::uintptr_t extra_pointer = 1, extra_size = 2, extra_end = 3;

enum LaunchAttributeId : int { launch_access_policy = 1, launch_cooperative = 2, launch_priority = 8 };

// hipLaunchAttribute since ROCm 7; older releases have it for graphs' nodes only.
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int cooperative, priority;
    void* aligned;
  } value;
};

struct LaunchConfig {
  Dim3 grid, block;
  std::size_t dynamic_lds;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct DriverLaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_lds;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct LaunchParameters {  // hipLaunchParams
  void* function;
  Dim3 grid, block;
  void** arguments;
  std::size_t dynamic_lds;
  StreamHandle stream;
};

struct FunctionLaunchParameters {  // hipFunctionLaunchParams
  FunctionHandle function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_lds;
  StreamHandle stream;
  void** arguments;
};

inline constexpr std::uintptr_t stream_legacy = 1, stream_per_thread = 2;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_disable_timing = 2, event_interprocess = 4, event_external = 1;
inline constexpr unsigned wait_greater_equal = 0, wait_equal = 1, wait_and = 2, wait_nor = 3;

using StreamCallback = void (*)(StreamHandle, Error, void*);
using HostFunction = void (*)(void*);

}  // namespace rapt::sim::hip
