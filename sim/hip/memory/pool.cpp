// hipMallocAsync and memory pools.
#include "sim/hip/memory/pool.hpp"

#include "sim/hip/memory/allocation.hpp"
#include "sim/hip/handles.hpp"
#include "sim/hip/stream/stream.hpp"

using namespace rapt::sim;
using namespace rapt::sim::hip;

namespace {

std::shared_ptr<Pool> find_pool(PoolHandle handle) {
  for (const auto& device : Runtime::get().devices()) {
    if (handle == device->default_pool.get()) return device->default_pool;
  }
  return handles<Pool>().need(handle, Error::invalid_value, "no such memory pool");
}

Error allocate_from(void** pointer, std::size_t bytes, const std::shared_ptr<Pool>& pool, StreamHandle stream) {
  need_pointer(pointer);
  const auto on = find_stream(stream);
  {
    const std::lock_guard lock(pool->mutex);
    need(pool->limit == 0 || bytes <= pool->limit - std::min(pool->used, pool->limit), Error::out_of_memory,
         "the pool is full");
  }
  void* memory = allocate_memory(Runtime::get().device(pool->device), bytes, MemoryKind::device, {0, pool});
  *pointer = memory;
  // The address is known at once; in a captured graph it is the same in every launch.
  submit(on, AllocateWork{memory, bytes});
  return Error::success;
}

}  // namespace

RAPT_HIP Error hipMallocAsync(void** pointer, std::size_t bytes, StreamHandle stream) {
  return api(__func__, [&] { return allocate_from(pointer, bytes, find_stream(stream)->device.pool, stream); });
}

RAPT_HIP Error hipMallocFromPoolAsync(void** pointer, std::size_t bytes, PoolHandle pool, StreamHandle stream) {
  return api(__func__, [&] { return allocate_from(pointer, bytes, find_pool(pool), stream); });
}

RAPT_HIP Error hipFreeAsync(void* pointer, StreamHandle stream) {
  return api(__func__, [&] {
    const auto on = find_stream(stream);
    if (pointer == nullptr) return Error::success;
    need_allocation(pointer);
    submit(on, ReleaseWork{pointer});
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceGetDefaultMemPool(PoolHandle* pool, int device) {
  return api(__func__, [&] {
    need_pointer(pool);
    *pool = Runtime::get().device(device).default_pool.get();
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceGetMemPool(PoolHandle* pool, int device) {
  return api(__func__, [&] {
    need_pointer(pool);
    *pool = Runtime::get().device(device).pool.get();
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceSetMemPool(int device, PoolHandle pool) {
  return api(__func__, [&] {
    Device& target = Runtime::get().device(device);
    auto chosen = find_pool(pool);
    need(chosen->device == device, Error::invalid_device, "the pool is another device's");
    target.pool = std::move(chosen);
    return Error::success;
  });
}

RAPT_HIP Error hipMemPoolCreate(PoolHandle* pool, const PoolProperties* properties) {
  return api(__func__, [&] {
    need_pointer(pool);
    need_pointer(properties);
    need(properties->allocation_type == 1 && properties->location.type == 1 && properties->handle_types == 0,
         Error::invalid_value, "pools are of pinned memory of one device, and not shared");
    auto created = std::make_shared<Pool>(Runtime::get().device(properties->location.id).id);
    created->limit = properties->max_size;
    *pool = handles<Pool>().add(std::move(created));
    return Error::success;
  });
}

RAPT_HIP Error hipMemPoolDestroy(PoolHandle pool) {
  return api(__func__, [&] {
    const auto removed = handles<Pool>().remove(pool);
    need(removed != nullptr, Error::invalid_value, "no such memory pool, or a device's default one");
    Device& device = Runtime::get().device(removed->device);
    if (device.pool == removed) device.pool = device.default_pool;
    return Error::success;
  });
}

RAPT_HIP Error hipMemPoolTrimTo(PoolHandle pool, std::size_t) {
  return api(__func__, [&] {
    find_pool(pool);
    return Error::success;
  });
}

RAPT_HIP Error hipMemPoolSetAttribute(PoolHandle handle, PoolAttribute attribute, void* value) {
  return api(__func__, [&] {
    need_pointer(value);
    const auto pool = find_pool(handle);
    const std::lock_guard lock(pool->mutex);
    switch (attribute) {
      case pool_reuse_follow_event_dependencies:
      case pool_reuse_allow_opportunistic:
      case pool_reuse_allow_internal_dependencies:
        pool->reuse[attribute - pool_reuse_follow_event_dependencies] = *static_cast<int*>(value);
        return Error::success;
      case pool_release_threshold: pool->release_threshold = *static_cast<std::uint64_t*>(value); return Error::success;
      case pool_reserved_high:
      case pool_used_high:
        need(*static_cast<std::uint64_t*>(value) == 0, Error::invalid_value, "a high mark can only be set to 0");
        pool->highest = pool->used;
        return Error::success;
      default: return Error::invalid_value;
    }
  });
}

RAPT_HIP Error hipMemPoolGetAttribute(PoolHandle handle, PoolAttribute attribute, void* value) {
  return api(__func__, [&] {
    need_pointer(value);
    const auto pool = find_pool(handle);
    const std::lock_guard lock(pool->mutex);
    switch (attribute) {
      case pool_reuse_follow_event_dependencies:
      case pool_reuse_allow_opportunistic:
      case pool_reuse_allow_internal_dependencies:
        *static_cast<int*>(value) = pool->reuse[attribute - pool_reuse_follow_event_dependencies];
        return Error::success;
      case pool_release_threshold: *static_cast<std::uint64_t*>(value) = pool->release_threshold; return Error::success;
      case pool_reserved_current:
      case pool_used_current: *static_cast<std::uint64_t*>(value) = pool->used; return Error::success;
      case pool_reserved_high:
      case pool_used_high: *static_cast<std::uint64_t*>(value) = pool->highest; return Error::success;
      default: return Error::invalid_value;
    }
  });
}

// All devices of the process reach all memory.
RAPT_HIP Error hipMemPoolSetAccess(PoolHandle pool, const MemoryAccess* list, std::size_t count) {
  return api(__func__, [&] {
    find_pool(pool);
    need(list != nullptr || count == 0, Error::invalid_value, "null pointer");
    for (std::size_t i = 0; i < count; i++) Runtime::get().device(list[i].location.id);
    return Error::success;
  });
}

RAPT_HIP Error hipMemPoolGetAccess(int* flags, PoolHandle pool, MemoryLocation* location) {
  return api(__func__, [&] {
    need_pointer(flags);
    need_pointer(location);
    find_pool(pool);
    Runtime::get().device(location->id);
    *flags = 3;
    return Error::success;
  });
}
