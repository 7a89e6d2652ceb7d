// Memory of HIP's allocating functions, with data that memory/memory.hpp need not know.
#pragma once

#include "sim/hip/runtime.hpp"
#include "sim/memory/memory.hpp"

namespace rapt::sim::hip {

// How it was allocated: flags of host memory, and the pool that counts it.
struct AllocationNote {
  unsigned flags = 0;
  std::shared_ptr<Pool> pool;
};

// Null for 0 bytes; fails with out_of_memory.
void* allocate_memory(Device& device, std::size_t bytes, MemoryKind kind, AllocationNote note = {});
// Frees it once nothing uses it any more. Fails if the pointer is not the start of an allocation that may be freed.
void release_memory(void* pointer);
// The same check without freeing.
const Allocation& need_allocation(const void* pointer);

void note_allocation(void* pointer, AllocationNote note);
AllocationNote find_note(const void* base);

// Null if the pointer is outside all allocations.
inline const Allocation* find_allocation(const void* pointer) {
  return Memory::process().find(reinterpret_cast<std::uint64_t>(pointer));
}
// The bytes must be in one allocation if the pointer is in one; else they are host memory and must be mapped.
void need_range(const void* pointer, std::size_t bytes, const char* what);
// The bytes must be in one allocation.
void need_device_range(const void* pointer, std::size_t bytes, const char* what);

}  // namespace rapt::sim::hip
