// Allocating and freeing device, host and managed memory.
#include "sim/hip/memory/allocation.hpp"
#include "sim/hip/abi/memory.hpp"
#include "sim/hip/graph/capture.hpp"

#include <limits>

using namespace rapt::sim;
using namespace rapt::sim::hip;

namespace {

constexpr unsigned host_coherent = 0x40000000, host_non_coherent = 0x80000000;
constexpr std::size_t pitch_alignment = 256;

Error allocate(const char* function, void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags) {
  return api(function, [&] {
    need_pointer(pointer);
    refuse_capture();
    *pointer = nullptr;
    *pointer = allocate_memory(current_device(), bytes, kind, {flags, nullptr});
    return Error::success;
  });
}

Error allocate_host(const char* function, void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned both = host_coherent | host_non_coherent;
  if ((flags & both) == both)
    return api(function, []() -> Error { throw Failure(Error::invalid_value, "coherent and not coherent at once"); });
  return allocate(function, pointer, bytes, MemoryKind::host, flags);
}

Error allocate_pitched(const char* function, void** pointer, std::size_t* pitch, std::size_t width, std::size_t height,
                       std::size_t depth) {
  return api(function, [&] {
    need_pointer(pointer);
    need_pointer(pitch);
    refuse_capture();
    *pointer = nullptr;
    if (width == 0 || height == 0 || depth == 0) return Error::success;
    need(width <= std::numeric_limits<std::size_t>::max() - pitch_alignment, Error::invalid_value, "too wide");
    const std::size_t row = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
    std::size_t bytes = 0;
    need(!__builtin_mul_overflow(row, height, &bytes) && !__builtin_mul_overflow(bytes, depth, &bytes),
         Error::out_of_memory, "more bytes than there are addresses");
    *pointer = allocate_memory(current_device(), bytes, MemoryKind::device);
    *pitch = row;
    return Error::success;
  });
}

// Freeing waits for whatever may still use the memory.
Error release(const char* function, void* pointer) {
  return api(function, [&] {
    if (pointer == nullptr) return Error::success;
    refuse_capture();
    const int device = need_allocation(pointer).device;
    static_cast<void>(Runtime::get().device(device).synchronize());
    release_memory(pointer);
    return Error::success;
  });
}

}  // namespace

RAPT_HIP Error hipMalloc(void** pointer, std::size_t bytes) {
  return allocate(__func__, pointer, bytes, MemoryKind::device, 0);
}
RAPT_HIP Error hipExtMallocWithFlags(void** pointer, std::size_t bytes, unsigned flags) {
  return allocate(__func__, pointer, bytes, MemoryKind::device, flags);
}
RAPT_HIP Error hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  if (flags != 1 && flags != 2)
    return api(__func__,
               []() -> Error { throw Failure(Error::invalid_value, "attached neither globally nor to the host"); });
  return allocate(__func__, pointer, bytes, MemoryKind::managed, flags);
}

RAPT_HIP Error hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags) {
  return allocate_host(__func__, pointer, bytes, flags);
}
RAPT_HIP Error hipHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return allocate_host(__func__, pointer, bytes, flags);
}
RAPT_HIP Error hipExtHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return allocate_host(__func__, pointer, bytes, flags);
}
RAPT_HIP Error hipMallocHost(void** pointer, std::size_t bytes) { return allocate_host(__func__, pointer, bytes, 0); }
RAPT_HIP Error hipMemAllocHost(void** pointer, std::size_t bytes) { return allocate_host(__func__, pointer, bytes, 0); }

RAPT_HIP Error hipMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return allocate_pitched(__func__, pointer, pitch, width, height, 1);
}

RAPT_HIP Error hipMemAllocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
  return allocate_pitched(__func__, pointer, pitch, width, height, 1);
}

RAPT_HIP Error hipMalloc3D(PitchedPointer* pitched, Extent extent) {
  if (pitched == nullptr) return allocate_pitched(__func__, nullptr, nullptr, 0, 0, 0);
  pitched->width = extent.width;
  pitched->height = extent.height;
  return allocate_pitched(__func__, &pitched->pointer, &pitched->pitch, extent.width, extent.height, extent.depth);
}

RAPT_HIP Error hipFree(void* pointer) { return release(__func__, pointer); }
RAPT_HIP Error hipHostFree(void* pointer) { return release(__func__, pointer); }
RAPT_HIP Error hipFreeHost(void* pointer) { return release(__func__, pointer); }

RAPT_HIP Error hipMemGetInfo(std::size_t* left, std::size_t* total) {
  return api(__func__, [&] {
    const Device& device = current_device();
    if (total != nullptr) *total = device.properties.memory_bytes;
    if (left != nullptr) *left = device.properties.memory_bytes - Memory::process().used(device.id);
    return Error::success;
  });
}
