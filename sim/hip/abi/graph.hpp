// Stream capture and graphs. The numbers of hipGraphNodeType begin at 1 in ROCm 5's headers and at 0 since 6.
#pragma once

#include "sim/hip/abi/launch.hpp"
#include "sim/hip/abi/memory.hpp"

namespace rapt::sim::hip {

enum class CaptureMode : int { global, thread_local_mode, relaxed };
enum class CaptureStatus : int { none, active, invalidated };

// As since ROCm 6.
enum class NodeType : int {
  kernel = 0,
  copy = 1,
  fill = 2,
  host = 3,
  graph = 4,
  empty = 5,
  event_wait = 6,
  event_record = 7,
  allocate = 10,
  release = 11,
};

struct KernelNodeParameters {
  Dim3 block;
  void** extra;
  void* function;
  Dim3 grid;
  void** arguments;
  unsigned dynamic_lds;
};

struct FillParameters {  // hipMemsetParams
  void* pointer;
  unsigned element_size;
  std::size_t height, pitch;
  unsigned value;
  std::size_t width;  // in elements
};

struct HostParameters {
  HostFunction function;
  void* data;
};

struct AllocateParameters {  // hipMemAllocNodeParams
  PoolProperties pool;
  const MemoryAccess* access;
  std::size_t access_count, bytes;
  void* pointer;
};

struct InstantiateParameters {
  NodeHandle error_node;
  unsigned long long flags;
  int result;  // 0 success, 1 error, 2 invalid structure
  StreamHandle upload_stream;
};

enum class UpdateResult : int {
  success,
  error,
  topology_changed,
  node_type_changed,
  function_changed,
  parameters_changed,
  not_supported,
  unsupported_function_change,
};

}  // namespace rapt::sim::hip
