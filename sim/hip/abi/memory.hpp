// Copies, pointers and pools. hipMemoryType and HIP_MEMCPY3D changed with ROCm 6.
#pragma once

#include "sim/hip/abi/types.hpp"

namespace rapt::sim::hip {

enum class CopyKind : int {
  host_to_host = 0,
  host_to_device = 1,
  device_to_host = 2,
  device_to_device = 3,
  automatic = 4,
  device_to_device_no_cu = 1024,
};

namespace rocm5 {
enum MemoryType : int { memory_host = 0, memory_device = 1, memory_array = 2, memory_unified = 3, memory_managed = 4 };
}  // namespace rocm5
namespace rocm6 {
enum MemoryType : int {
  memory_unregistered = 0,
  memory_host = 1,
  memory_device = 2,
  memory_managed = 3,
  memory_array = 10,
  memory_unified = 11
};
}  // namespace rocm6

struct PointerAttributes {
  int type;  // of the release's MemoryType
  int device;
  void *device_pointer, *host_pointer;
  int is_managed;
  unsigned allocation_flags;
};

struct Extent {
  std::size_t width, height, depth;
};
struct Position {
  std::size_t x, y, z;
};
struct PitchedPointer {
  void* pointer;
  std::size_t pitch, width, height;
};

// hipMemcpy3DParms. The arrays are not supported and must be null.
struct Copy3D {
  void* from_array;
  Position from_position;
  PitchedPointer from;
  void* to_array;
  Position to_position;
  PitchedPointer to;
  Extent extent;
  CopyKind kind;
};

// hip_Memcpy2D
struct DriverCopy2D {
  std::size_t from_x, from_y;
  int from_type;
  const void* from_host;
  void *from_device, *from_array;
  std::size_t from_pitch, to_x, to_y;
  int to_type;
  void *to_host, *to_device, *to_array;
  std::size_t to_pitch, width, height;
};

// HIP_MEMCPY3D: its sizes are 32 bits in ROCm 5.
template <typename Size>
struct DriverCopy3D {
  Size from_x, from_y, from_z, from_lod;
  int from_type;
  const void* from_host;
  void *from_device, *from_array;
  Size from_pitch, from_height, to_x, to_y, to_z, to_lod;
  int to_type;
  void *to_host, *to_device, *to_array;
  Size to_pitch, to_height, width, height, depth;
};

enum PointerAttribute : int {
  pointer_context = 1,
  pointer_memory_type,
  pointer_device_pointer,
  pointer_host_pointer,
  pointer_p2p_tokens,
  pointer_sync_memops,
  pointer_buffer_id,
  pointer_is_managed,
  pointer_device_ordinal,
  pointer_is_legacy_ipc_capable,
  pointer_range_start,
  pointer_range_size,
  pointer_mapped,
  pointer_allowed_handle_types,
  pointer_is_gpu_direct_rdma_capable,
  pointer_access_flags,
  pointer_mempool_handle,
};

enum RangeAttribute : int {
  range_read_mostly = 1,
  range_preferred_location = 2,
  range_accessed_by = 3,
  range_last_prefetch_location = 4,
  range_coherency_mode = 100,
};

struct MemoryLocation {
  int type;  // 1: a device
  int id;
};
struct MemoryAccess {
  MemoryLocation location;
  int flags;  // 0 none, 1 read, 3 read and write
};

// hipMemPoolProps; in ROCm 5, max_size was a part of reserved.
struct PoolProperties {
  int allocation_type, handle_types;
  MemoryLocation location;
  void* security;
  std::size_t max_size;
  unsigned char reserved[56];
};

enum PoolAttribute : int {
  pool_reuse_follow_event_dependencies = 1,
  pool_reuse_allow_opportunistic,
  pool_reuse_allow_internal_dependencies,
  pool_release_threshold,
  pool_reserved_current,
  pool_reserved_high,
  pool_used_current,
  pool_used_high,
};

inline constexpr int cpu_device = -1, invalid_device_id = -2;

}  // namespace rapt::sim::hip
