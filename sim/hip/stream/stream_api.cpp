// hipStream* except for capture.
#include "sim/hip/memory/allocation.hpp"
#include "sim/hip/graph/capture.hpp"
#include "sim/hip/stream/event.hpp"
#include "sim/hip/handles.hpp"
#include "sim/hip/stream/stream.hpp"

#include <algorithm>

using namespace rapt::sim::hip;

namespace {

constexpr int lowest_priority = 1, highest_priority = -1;

Error create(const char* function, StreamHandle* handle, unsigned flags, int priority) {
  return api(function, [&] {
    need_pointer(handle);
    need(flags <= stream_non_blocking, Error::invalid_value, "unknown flags");
    Device& device = current_device();
    const int clamped = std::clamp(priority, highest_priority, lowest_priority);
    auto stream = std::make_shared<Stream>(device, flags, clamped);
    {
      const std::lock_guard lock(device.order);
      device.streams.insert(stream);
    }
    *handle = handles<Stream>().add(std::move(stream));
    return Error::success;
  });
}

Error query(const char* function, StreamHandle handle) {
  return api(function, [&] {
    const auto stream = find_stream(handle);
    refuse_capturing(*stream);
    if (!stream->idle()) return Error::not_ready;
    return stream->device.failure.load();
  });
}

Error synchronize(const char* function, StreamHandle handle) {
  return api(function, [&] {
    const auto stream = find_stream(handle);
    refuse_capturing(*stream);
    stream->synchronize();
    return stream->device.failure.load();
  });
}

Error wait(const char* function, StreamHandle handle, EventHandle event, unsigned flags) {
  return api(function, [&] {
    need(flags <= 1, Error::invalid_value, "unknown flags");
    submit(find_stream(handle), EventWaitWork{handles<Event>().need(event, Error::invalid_handle, "no such event")});
    return Error::success;
  });
}

Error add_host(const char* function, StreamHandle handle, HostFunction host, void* data) {
  return api(function, [&] {
    need(host != nullptr, Error::invalid_value, "null function");
    submit(find_stream(handle), HostWork{host, data});
    return Error::success;
  });
}

Error add_callback(const char* function, StreamHandle handle, StreamCallback callback, void* data, unsigned flags) {
  return api(function, [&] {
    need(callback != nullptr && flags == 0, Error::invalid_value, "null function, or flags");
    submit(find_stream(handle), CallbackWork{callback, handle, data});
    return Error::success;
  });
}

template <typename T>
Error get(const char* function, StreamHandle handle, T* value, auto&& read) {
  return api(function, [&] {
    need_pointer(value);
    *value = static_cast<T>(read(*find_stream(handle)));
    return Error::success;
  });
}

unsigned flags_of(const Stream& stream) { return stream.flags; }
int priority_of(const Stream& stream) { return stream.priority; }

Error wait_value(const char* function, StreamHandle handle, const void* at, std::uint64_t value, unsigned condition,
                 std::uint64_t mask, unsigned bytes) {
  return api(function, [&] {
    need(condition <= wait_nor, Error::invalid_value, "unknown condition");
    need(reinterpret_cast<std::uintptr_t>(at) % bytes == 0, Error::invalid_value, "the address is not aligned");
    need_device_range(at, bytes, "not memory that the device can reach");
    submit(find_stream(handle), WaitWork{at, value, mask, bytes, condition});
    return Error::success;
  });
}

Error write_value(const char* function, StreamHandle handle, void* to, std::uint64_t value, unsigned bytes) {
  return api(function, [&] {
    need(reinterpret_cast<std::uintptr_t>(to) % bytes == 0, Error::invalid_value, "the address is not aligned");
    need_device_range(to, bytes, "not memory that the device can reach");
    submit(find_stream(handle), WriteWork{to, value, bytes});
    return Error::success;
  });
}

}  // namespace

RAPT_HIP Error hipStreamCreate(StreamHandle* stream) { return create(__func__, stream, 0, 0); }
RAPT_HIP Error hipStreamCreateWithFlags(StreamHandle* stream, unsigned flags) {
  return create(__func__, stream, flags, 0);
}
RAPT_HIP Error hipStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int priority) {
  return create(__func__, stream, flags, priority);
}
// All compute units are always used.
RAPT_HIP Error hipExtStreamCreateWithCUMask(StreamHandle* stream, std::uint32_t words, const std::uint32_t* mask) {
  if (words == 0 || mask == nullptr) return api(__func__, [] { return Error::invalid_value; });
  return create(__func__, stream, 0, 0);
}

RAPT_HIP Error hipStreamDestroy(StreamHandle handle) {
  return api(__func__, [&] {
    need(handle != nullptr, Error::invalid_handle, "the default stream cannot be destroyed");
    const auto stream = handles<Stream>().remove(handle);
    need(stream != nullptr, Error::invalid_handle, "no such stream");
    forget_capture(*stream);
    stream->synchronize();
    const std::lock_guard lock(stream->device.order);
    stream->device.streams.erase(stream);
    return Error::success;
  });
}

RAPT_HIP Error hipStreamQuery(StreamHandle stream) { return query(__func__, stream); }
RAPT_HIP Error hipStreamQuery_spt(StreamHandle stream) { return query(__func__, own(stream)); }
RAPT_HIP Error hipStreamSynchronize(StreamHandle stream) { return synchronize(__func__, stream); }
RAPT_HIP Error hipStreamSynchronize_spt(StreamHandle stream) { return synchronize(__func__, own(stream)); }
RAPT_HIP Error hipStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned flags) {
  return wait(__func__, stream, event, flags);
}
RAPT_HIP Error hipStreamWaitEvent_spt(StreamHandle stream, EventHandle event, unsigned flags) {
  return wait(__func__, own(stream), event, flags);
}

RAPT_HIP Error hipStreamGetFlags(StreamHandle stream, unsigned* flags) {
  return get(__func__, stream, flags, flags_of);
}
RAPT_HIP Error hipStreamGetFlags_spt(StreamHandle stream, unsigned* flags) {
  return get(__func__, own(stream), flags, flags_of);
}
RAPT_HIP Error hipStreamGetPriority(StreamHandle stream, int* priority) {
  return get(__func__, stream, priority, priority_of);
}
RAPT_HIP Error hipStreamGetPriority_spt(StreamHandle stream, int* priority) {
  return get(__func__, own(stream), priority, priority_of);
}
RAPT_HIP Error hipStreamGetDevice(StreamHandle stream, int* device) {
  return get(__func__, stream, device, [](const Stream& s) { return s.device.id; });
}
RAPT_HIP Error hipStreamGetId(StreamHandle stream, unsigned long long* id) {
  return get(__func__, stream, id, [](const Stream& s) { return s.id; });
}
RAPT_HIP int hipGetStreamDeviceId(StreamHandle handle) {
  int id = -1;
  api(__func__, [&] {
    id = find_stream(handle)->device.id;
    return Error::success;
  });
  return id;
}
RAPT_HIP Error hipExtStreamGetCUMask(StreamHandle handle, std::uint32_t words, std::uint32_t* mask) {
  return api(__func__, [&] {
    need_pointer(mask);
    const unsigned units = find_stream(handle)->device.properties.compute_units;
    need(words >= (units + 31) / 32, Error::invalid_value, "too few words for the mask");
    for (unsigned i = 0; i < words; i++) {
      const unsigned rest = units > i * 32 ? units - i * 32 : 0;
      mask[i] = rest >= 32 ? 0xffffffffU : (1U << rest) - 1;
    }
    return Error::success;
  });
}
RAPT_HIP Error hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api(__func__, [&] {
    if (least != nullptr) *least = lowest_priority;
    if (greatest != nullptr) *greatest = highest_priority;
    return Error::success;
  });
}

RAPT_HIP Error hipStreamAddCallback(StreamHandle stream, StreamCallback callback, void* data, unsigned flags) {
  return add_callback(__func__, stream, callback, data, flags);
}
RAPT_HIP Error hipStreamAddCallback_spt(StreamHandle stream, StreamCallback callback, void* data, unsigned flags) {
  return add_callback(__func__, own(stream), callback, data, flags);
}
RAPT_HIP Error hipLaunchHostFunc(StreamHandle stream, HostFunction function, void* data) {
  return add_host(__func__, stream, function, data);
}
RAPT_HIP Error hipLaunchHostFunc_spt(StreamHandle stream, HostFunction function, void* data) {
  return add_host(__func__, own(stream), function, data);
}

RAPT_HIP Error hipStreamWaitValue32(StreamHandle stream, void* at, std::uint32_t value, unsigned flags,
                                    std::uint32_t mask) {
  return wait_value(__func__, stream, at, value, flags, mask, 4);
}
RAPT_HIP Error hipStreamWaitValue64(StreamHandle stream, void* at, std::uint64_t value, unsigned flags,
                                    std::uint64_t mask) {
  return wait_value(__func__, stream, at, value, flags, mask, 8);
}
RAPT_HIP Error hipStreamWriteValue32(StreamHandle stream, void* to, std::uint32_t value, unsigned) {
  return write_value(__func__, stream, to, value, 4);
}
RAPT_HIP Error hipStreamWriteValue64(StreamHandle stream, void* to, std::uint64_t value, unsigned) {
  return write_value(__func__, stream, to, value, 8);
}
