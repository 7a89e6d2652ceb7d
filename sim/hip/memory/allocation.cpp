#include "sim/hip/memory/allocation.hpp"

#include "sim/hip/memory/pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <unordered_map>

namespace rapt::sim::hip {

namespace {

struct Notes {
  std::mutex mutex;
  std::unordered_map<const void*, AllocationNote> by_base;
};

Notes& notes() {
  static Notes& all = *new Notes;
  return all;
}

bool owned(const Allocation& allocation) {
  return allocation.kind == MemoryKind::device || allocation.kind == MemoryKind::host ||
         allocation.kind == MemoryKind::managed;
}

// Host memory that the program passes must at least be mapped.
bool mapped(const void* pointer, std::size_t bytes) {
  constexpr std::size_t page = 4096, most = std::size_t{1} << 16;
  auto at = reinterpret_cast<std::uintptr_t>(pointer) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(pointer) + bytes;
  if (end < at) return false;
  std::vector<unsigned char> resident(most);
  while (at < end) {
    const std::size_t pages = std::min<std::size_t>((end - at + page - 1) / page, most);
    if (mincore(reinterpret_cast<void*>(at), pages * page, resident.data()) != 0) return false;
    at += pages * page;
  }
  return true;
}

}  // namespace

void note_allocation(void* pointer, AllocationNote note) {
  const std::lock_guard lock(notes().mutex);
  notes().by_base[pointer] = std::move(note);
}

AllocationNote find_note(const void* base) {
  const std::lock_guard lock(notes().mutex);
  const auto found = notes().by_base.find(base);
  return found == notes().by_base.end() ? AllocationNote{} : found->second;
}

void* allocate_memory(Device& device, std::size_t bytes, MemoryKind kind, AllocationNote note) {
  if (bytes == 0) return nullptr;
  void* pointer = nullptr;
  if (bytes < std::size_t{1} << 46)
    pointer = Memory::process().allocate(bytes, bytes < 4096 ? 256 : 4096, kind, device.id);
  if (pointer == nullptr) throw Failure(Error::out_of_memory, std::to_string(bytes) + " bytes are more than is left");
  if (note.pool) note.pool->add(bytes);
  if (note.flags != 0 || note.pool) note_allocation(pointer, std::move(note));
  return pointer;
}

const Allocation& need_allocation(const void* pointer) {
  const Allocation* allocation = find_allocation(pointer);
  need(allocation != nullptr && allocation->base == reinterpret_cast<std::uint64_t>(pointer) && owned(*allocation),
       Error::invalid_value, "not the start of a live allocation");
  return *allocation;
}

void release_memory(void* pointer) {
  const Allocation& allocation = need_allocation(pointer);
  const AllocationNote note = find_note(pointer);
  if (note.pool) note.pool->remove(static_cast<std::size_t>(allocation.size));
  {
    const std::lock_guard lock(notes().mutex);
    notes().by_base.erase(pointer);
  }
  need(Memory::process().release(pointer), Error::invalid_value, "not the start of a live allocation");
}

void need_range(const void* pointer, std::size_t bytes, const char* what) {
  need(pointer != nullptr, Error::invalid_value, what);
  const Allocation* allocation = find_allocation(pointer);
  if (allocation == nullptr) {
    need(mapped(pointer, bytes), Error::invalid_value, what);
    return;
  }
  const auto offset = reinterpret_cast<std::uint64_t>(pointer) - allocation->base;
  need(bytes <= allocation->size - offset, Error::invalid_value, what);
}

void need_device_range(const void* pointer, std::size_t bytes, const char* what) {
  need(find_allocation(pointer) != nullptr, Error::invalid_value, what);
  need_range(pointer, bytes, what);
}

}  // namespace rapt::sim::hip
