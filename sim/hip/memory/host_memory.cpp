// Host memory that the program owns or queries; advice on managed memory, which has no effect here.
#include "sim/hip/abi/memory.hpp"
#include "sim/hip/memory/allocation.hpp"
#include "sim/hip/stream/stream.hpp"

using namespace rapt::sim;
using namespace rapt::sim::hip;

RAPT_HIP Error hipHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return api(__func__, [&] {
    need(pointer != nullptr && bytes != 0 && flags <= 15, Error::invalid_value, "null, empty or unknown flags");
    need(find_allocation(pointer) == nullptr && find_allocation(static_cast<char*>(pointer) + bytes - 1) == nullptr,
         Error::host_memory_already_registered, "a part of the memory is registered");
    need_range(pointer, bytes, "not the program's memory");
    need(Memory::process().adopt(pointer, bytes, MemoryKind::registered, current_device().id),
         Error::host_memory_already_registered, "a part of the memory is registered");
    note_allocation(pointer, {flags, nullptr});
    return Error::success;
  });
}

RAPT_HIP Error hipHostUnregister(void* pointer) {
  return api(__func__, [&] {
    need_pointer(pointer);
    const Allocation* allocation = find_allocation(pointer);
    need(allocation != nullptr && allocation->kind == MemoryKind::registered &&
             allocation->base == reinterpret_cast<std::uint64_t>(pointer),
         Error::host_memory_not_registered, "not registered");
    static_cast<void>(Runtime::get().device(allocation->device).synchronize());
    Memory::process().release(pointer);
    return Error::success;
  });
}

RAPT_HIP Error hipHostGetDevicePointer(void** device_pointer, void* pointer, unsigned flags) {
  return api(__func__, [&] {
    need_pointer(device_pointer);
    need(flags == 0, Error::invalid_value, "flags must be 0");
    need(find_allocation(pointer) != nullptr, Error::invalid_value, "not memory that the device can reach");
    *device_pointer = pointer;
    return Error::success;
  });
}

RAPT_HIP Error hipHostGetFlags(unsigned* flags, void* pointer) {
  return api(__func__, [&] {
    need_pointer(flags);
    const Allocation* allocation = find_allocation(pointer);
    need(allocation != nullptr && (allocation->kind == MemoryKind::host || allocation->kind == MemoryKind::registered),
         Error::invalid_value, "not host memory that HIP knows");
    *flags = find_note(reinterpret_cast<void*>(allocation->base)).flags;
    return Error::success;
  });
}

namespace {

Error advise(const char* function, const void* pointer, std::size_t bytes, int device) {
  return api(function, [&] {
    need(bytes != 0, Error::invalid_value, "no bytes");
    need_device_range(pointer, bytes, "not memory that HIP knows");
    if (device != cpu_device) Runtime::get().device(device);
    return Error::success;
  });
}

}  // namespace

RAPT_HIP Error hipMemAdvise(const void* pointer, std::size_t bytes, int advice, int device) {
  const bool known = (advice >= 1 && advice <= 6) || advice == 100 || advice == 101;
  if (!known) return api(__func__, [] { return Error::invalid_value; });
  return advise(__func__, pointer, bytes, device);
}

RAPT_HIP Error hipMemAdvise_v2(const void* pointer, std::size_t bytes, int, MemoryLocation location) {
  return advise(__func__, pointer, bytes, location.type == 1 ? location.id : cpu_device);
}

RAPT_HIP Error hipMemPrefetchAsync(const void* pointer, std::size_t bytes, int device, StreamHandle stream) {
  if (const Error error = advise(__func__, pointer, bytes, device); error != Error::success) return error;
  return api(__func__, [&] {
    submit(find_stream(stream), EmptyWork{});
    return Error::success;
  });
}

RAPT_HIP Error hipMemPrefetchAsync_v2(const void* pointer, std::size_t bytes, MemoryLocation location, unsigned,
                                      StreamHandle stream) {
  return hipMemPrefetchAsync(pointer, bytes, location.type == 1 ? location.id : cpu_device, stream);
}

RAPT_HIP Error hipMemRangeGetAttribute(void* data, std::size_t size, RangeAttribute attribute, const void* pointer,
                                       std::size_t bytes) {
  return api(__func__, [&] {
    need_pointer(data);
    need(size != 0 && size % 4 == 0 && bytes != 0, Error::invalid_value, "no room for the answer, or no bytes");
    need_device_range(pointer, bytes, "not memory that HIP knows");
    auto* value = static_cast<int*>(data);
    switch (attribute) {
      case range_read_mostly: value[0] = 0; return Error::success;
      case range_preferred_location:
      case range_last_prefetch_location: value[0] = invalid_device_id; return Error::success;
      case range_accessed_by:
        for (std::size_t i = 0; i < size / 4; i++) value[i] = invalid_device_id;
        return Error::success;
      case range_coherency_mode: value[0] = 0; return Error::success;
      default: return Error::invalid_value;
    }
  });
}

RAPT_HIP Error hipMemRangeGetAttributes(void** data, std::size_t* sizes, RangeAttribute* attributes, std::size_t count,
                                        const void* pointer, std::size_t bytes) {
  return api(__func__, [&] {
    need(data != nullptr && sizes != nullptr && attributes != nullptr && count != 0, Error::invalid_value,
         "null pointer");
    for (std::size_t i = 0; i < count; i++)
      if (const Error error = hipMemRangeGetAttribute(data[i], sizes[i], attributes[i], pointer, bytes);
          error != Error::success)
        return error;
    return Error::success;
  });
}

RAPT_HIP Error hipStreamAttachMemAsync(StreamHandle stream, void* pointer, std::size_t, unsigned flags) {
  return api(__func__, [&] {
    find_stream(stream);
    const Allocation* allocation = find_allocation(pointer);
    need(allocation != nullptr && allocation->kind == MemoryKind::managed, Error::invalid_value, "not managed memory");
    need(flags == 1 || flags == 2 || flags == 4, Error::invalid_value, "unknown flags");
    return Error::success;
  });
}
