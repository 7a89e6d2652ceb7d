// What HIP says about a pointer. ROCm 6 changed the numbers of hipMemoryType.
#include "sim/hip/abi/memory.hpp"
#include "sim/hip/memory/allocation.hpp"
#include "sim/hip/version.hpp"

#include <cstring>

using namespace rapt::sim;
using namespace rapt::sim::hip;

namespace {

int memory_type(MemoryKind kind) {
  const bool old = major == 5;
  switch (kind) {
    case MemoryKind::host:
    case MemoryKind::registered: return old ? int{rocm5::memory_host} : int{rocm6::memory_host};
    // ROCm 5.2 reports managed memory as host memory; is_managed tells them apart.
    case MemoryKind::managed: return old ? int{rocm5::memory_host} : int{rocm6::memory_managed};
    default: return old ? int{rocm5::memory_device} : int{rocm6::memory_device};
  }
}

bool on_host(MemoryKind kind) { return kind != MemoryKind::device && kind != MemoryKind::code; }

template <typename T>
void put(void* data, T value) {
  std::memcpy(data, &value, sizeof(value));
}

void put_attribute(void* data, PointerAttribute attribute, const void* pointer) {
  need_pointer(data);
  const Allocation* allocation = find_allocation(pointer);
  need(allocation != nullptr, Error::invalid_value, "not memory that HIP knows");
  switch (attribute) {
    case pointer_memory_type: return put(data, memory_type(allocation->kind));
    case pointer_device_pointer: return put(data, pointer);
    case pointer_host_pointer:
      need(on_host(allocation->kind), Error::invalid_value, "device memory has no host pointer");
      return put(data, pointer);
    case pointer_sync_memops: return put(data, 0);
    case pointer_buffer_id: return put(data, allocation->base);
    case pointer_is_managed: return put(data, static_cast<unsigned>(allocation->kind == MemoryKind::managed));
    case pointer_device_ordinal: return put(data, allocation->device);
    case pointer_is_legacy_ipc_capable:
    case pointer_is_gpu_direct_rdma_capable: return put(data, 0U);
    case pointer_range_start: return put(data, allocation->base);
    case pointer_range_size: return put(data, static_cast<std::size_t>(allocation->size));
    case pointer_mapped: return put(data, 1U);
    case pointer_allowed_handle_types: return put(data, 0);
    case pointer_access_flags: return put(data, 3);
    case pointer_mempool_handle:
      return put(data, static_cast<void*>(find_note(reinterpret_cast<void*>(allocation->base)).pool.get()));
    default: throw Failure(Error::not_supported, "pointer attribute that there is nothing to say of");
  }
}

}  // namespace

RAPT_HIP Error hipPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  return api(__func__, [&] {
    need_pointer(attributes);
    need_pointer(pointer);
    const Allocation* allocation = find_allocation(pointer);
    if (allocation == nullptr) {
      // ROCm 5 has no type for memory that HIP does not know.
      need(major != 5, Error::invalid_value, "not memory that HIP knows");
      *attributes = {rocm6::memory_unregistered, invalid_device_id, nullptr, nullptr, 0, 0};
      return Error::success;
    }
    auto* same = const_cast<void*>(pointer);
    *attributes = {memory_type(allocation->kind),
                   allocation->device,
                   same,
                   on_host(allocation->kind) ? same : nullptr,
                   allocation->kind == MemoryKind::managed,
                   find_note(reinterpret_cast<void*>(allocation->base)).flags};
    return Error::success;
  });
}

RAPT_HIP Error hipPointerGetAttribute(void* data, PointerAttribute attribute, void* pointer) {
  return api(__func__, [&] {
    put_attribute(data, attribute, pointer);
    return Error::success;
  });
}

RAPT_HIP Error hipDrvPointerGetAttributes(unsigned count, PointerAttribute* attributes, void** data, void* pointer) {
  return api(__func__, [&] {
    need(count != 0 && attributes != nullptr && data != nullptr, Error::invalid_value, "null pointer");
    for (unsigned i = 0; i < count; i++) put_attribute(data[i], attributes[i], pointer);
    return Error::success;
  });
}

RAPT_HIP Error hipPointerSetAttribute(const void* value, PointerAttribute attribute, void* pointer) {
  return api(__func__, [&] {
    need_pointer(value);
    need(attribute == pointer_sync_memops, Error::invalid_value, "only synchronous copies can be asked for");
    need(find_allocation(pointer) != nullptr, Error::invalid_device_pointer, "not memory that HIP knows");
    return Error::success;
  });
}

RAPT_HIP Error hipMemGetAddressRange(void** base, std::size_t* size, void* pointer) {
  return api(__func__, [&] {
    need(base != nullptr || size != nullptr, Error::invalid_value, "nothing to write to");
    const Allocation* allocation = find_allocation(pointer);
    need(allocation != nullptr, Error::not_found, "not memory that HIP knows");
    if (base != nullptr) *base = reinterpret_cast<void*>(allocation->base);
    if (size != nullptr) *size = allocation->size;
    return Error::success;
  });
}

RAPT_HIP Error hipMemPtrGetInfo(void* pointer, std::size_t* size) {
  return api(__func__, [&] {
    need_pointer(size);
    const Allocation* allocation = find_allocation(pointer);
    need(allocation != nullptr, Error::invalid_value, "not memory that HIP knows");
    *size = allocation->size;
    return Error::success;
  });
}
