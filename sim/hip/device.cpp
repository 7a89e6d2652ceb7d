// Choosing devices and asking about them.
#include "sim/hip/device_properties.hpp"

#include "sim/hip/graph/capture.hpp"
#include "sim/hip/log.hpp"
#include "sim/hip/version.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace rapt::sim;
using namespace rapt::sim::hip;

RAPT_HIP Error hipInit(unsigned flags) {
  return api(__func__, [&] { return flags == 0 ? Error::success : Error::invalid_value; });
}

RAPT_HIP Error hipDriverGetVersion(int* value) {
  if (value == nullptr) return Error::invalid_value;
  *value = version;
  return Error::success;
}
RAPT_HIP Error hipRuntimeGetVersion(int* value) { return hipDriverGetVersion(value); }

RAPT_HIP Error hipGetDeviceCount(int* count) {
  if (count != nullptr) *count = 0;
  return api(__func__, [&] {
    need_pointer(count);
    *count = static_cast<int>(Runtime::get().devices().size());
    return Error::success;
  });
}

RAPT_HIP Error hipSetDevice(int device) {
  return api(__func__, [&] {
    Runtime::get().device(device);
    thread().device = device;
    return Error::success;
  });
}

RAPT_HIP Error hipSetValidDevices(int* devices, int count) {
  return api(__func__, [&] {
    need(count >= 0 && (devices != nullptr || count == 0), Error::invalid_value, "null pointer");
    for (int i = 0; i < count; i++) Runtime::get().device(devices[i]);
    if (count > 0) thread().device = devices[0];
    return Error::success;
  });
}

RAPT_HIP Error hipGetDevice(int* device) {
  return api(__func__, [&] {
    need_pointer(device);
    *device = thread().device;
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceSynchronize() {
  return api(__func__, [] {
    refuse_capture();
    return current_device().synchronize();
  });
}

// Memory and streams are kept; a failure is cleared.
RAPT_HIP Error hipDeviceReset() {
  return api(__func__, [] {
    Device& device = current_device();
    static_cast<void>(device.synchronize());
    device.failure = Error::success;
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceGet(int* device, int ordinal) {
  return api(__func__, [&] {
    need_pointer(device);
    *device = Runtime::get().device(ordinal).id;
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceComputeCapability(int* major_version, int* minor_version, int device) {
  return api(__func__, [&] {
    need_pointer(major_version);
    need_pointer(minor_version);
    const Version is = arch_version(Runtime::get().device(device).arch);
    *major_version = is.major;
    *minor_version = is.minor;
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceGetName(char* name, int size, int device) {
  return api(__func__, [&] {
    const Device& found = Runtime::get().device(device);
    need(name != nullptr && size > 0, Error::invalid_value, "no room for the name");
    const auto product = found.properties.product;
    const auto length = std::min(product.size(), static_cast<std::size_t>(size) - 1);
    std::memcpy(name, product.data(), length);
    name[length] = 0;
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceGetUuid(Uuid* uuid, int device) {
  return api(__func__, [&] {
    need_pointer(uuid);
    *uuid = properties_r0600(Runtime::get().device(device)).uuid;
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceTotalMem(std::size_t* bytes, int device) {
  return api(__func__, [&] {
    need_pointer(bytes);
    *bytes = Runtime::get().device(device).properties.memory_bytes;
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceGetPCIBusId(char* text, int size, int device) {
  return api(__func__, [&] {
    Runtime::get().device(device);
    need(text != nullptr && size >= 13, Error::invalid_value, "no room for 0000:00:00.0");
    std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", device + 1);
    return Error::success;
  });
}

RAPT_HIP Error hipDeviceGetByPCIBusId(int* device, const char* text) {
  return api(__func__, [&] {
    need_pointer(device);
    need_pointer(text);
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    need(std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4, Error::invalid_value, "no bus id");
    need(domain == 0 && slot == 0 && bus >= 1, Error::invalid_device, "no device there");
    *device = Runtime::get().device(static_cast<int>(bus) - 1).id;
    return Error::success;
  });
}

RAPT_HIP Error hipGetDeviceFlags(unsigned* flags) {
  return api(__func__, [&] {
    need_pointer(flags);
    *flags = current_device().flags;
    return Error::success;
  });
}

RAPT_HIP Error hipSetDeviceFlags(unsigned flags) {
  return api(__func__, [&] {
    need(flags <= 31 && ((flags & 7) == 0 || (flags & 7) == 1 || (flags & 7) == 2 || (flags & 7) == 4),
         Error::invalid_value, "unknown flags");
    current_device().flags = flags;
    return Error::success;
  });
}

namespace {

enum Limit : int { limit_stack = 0, limit_printf = 1, limit_heap = 2 };

}  // namespace

// ROCm's defaults.
RAPT_HIP Error hipDeviceGetLimit(std::size_t* value, int limit) {
  return api(__func__, [&] {
    need_pointer(value);
    switch (limit) {
      case limit_stack: *value = 1024; return Error::success;
      case limit_printf: *value = std::size_t{1} << 20; return Error::success;
      case limit_heap: *value = std::size_t{8} << 20; return Error::success;
      default: return Error::unsupported_limit;
    }
  });
}
RAPT_HIP Error hipDeviceSetLimit(int, std::size_t) {
  return api(__func__, [] { return Error::unsupported_limit; });
}

// Caches and LDS banks cannot be configured; settings are ignored, as in ROCm.
RAPT_HIP Error hipDeviceSetCacheConfig(int config) {
  return api(__func__, [&] { return config >= 0 && config <= 3 ? Error::success : Error::invalid_value; });
}
RAPT_HIP Error hipDeviceGetCacheConfig(int* config) {
  return api(__func__, [&] {
    need_pointer(config);
    *config = 0;
    return Error::success;
  });
}
RAPT_HIP Error hipDeviceSetSharedMemConfig(int config) {
  return api(__func__, [&] { return config >= 0 && config <= 2 ? Error::success : Error::invalid_value; });
}
RAPT_HIP Error hipDeviceGetSharedMemConfig(int* config) {
  return api(__func__, [&] {
    need_pointer(config);
    *config = 1;
    return Error::success;
  });
}

RAPT_HIP Error hipProfilerStart() {
  return api(__func__, [] { return Error::success; });
}
RAPT_HIP Error hipProfilerStop() {
  return api(__func__, [] { return Error::success; });
}
