// Contexts, which HIP deprecates. A context is a device; each thread has a stack of them.
#include "sim/hip/graph/capture.hpp"
#include "sim/hip/runtime.hpp"

using namespace rapt::sim::hip;

namespace {

Device& find_context(ContextHandle context) {
  for (const auto& device : Runtime::get().devices())
    if (device.get() == context) return *device;
  throw Failure(Error::invalid_context, "no such context");
}

Error config(const char* function, int* value, int is) {
  return api(function, [&] {
    need_pointer(value);
    *value = is;
    return Error::success;
  });
}

}  // namespace

RAPT_HIP Error hipCtxCreate(ContextHandle* context, unsigned, int id) {
  return api(__func__, [&] {
    need_pointer(context);
    Device& device = Runtime::get().device(id);
    *context = &device;
    thread().contexts.push_back(&device);
    thread().device = id;
    return Error::success;
  });
}

RAPT_HIP Error hipCtxDestroy(ContextHandle context) {
  return api(__func__, [&] {
    need_pointer(context);
    find_context(context);
    std::erase(thread().contexts, context);
    return Error::success;
  });
}

RAPT_HIP Error hipCtxPushCurrent(ContextHandle context) {
  return api(__func__, [&] {
    const Device& device = find_context(context);
    thread().contexts.push_back(context);
    thread().device = device.id;
    return Error::success;
  });
}

RAPT_HIP Error hipCtxPopCurrent(ContextHandle* context) {
  return api(__func__, [&] {
    auto& stack = thread().contexts;
    need(!stack.empty(), Error::invalid_context, "no context is current");
    if (context != nullptr) *context = stack.back();
    stack.pop_back();
    if (!stack.empty()) thread().device = find_context(stack.back()).id;
    return Error::success;
  });
}

RAPT_HIP Error hipCtxSetCurrent(ContextHandle context) {
  return api(__func__, [&] {
    auto& stack = thread().contexts;
    if (context == nullptr) {
      if (!stack.empty()) stack.pop_back();
      return Error::success;
    }
    const Device& device = find_context(context);
    if (!stack.empty()) stack.pop_back();
    stack.push_back(context);
    thread().device = device.id;
    return Error::success;
  });
}

RAPT_HIP Error hipCtxGetCurrent(ContextHandle* context) {
  return api(__func__, [&] {
    need_pointer(context);
    *context = &current_device();
    return Error::success;
  });
}

RAPT_HIP Error hipCtxGetDevice(int* device) {
  return api(__func__, [&] {
    need_pointer(device);
    *device = current_device().id;
    return Error::success;
  });
}

RAPT_HIP Error hipCtxGetApiVersion(ContextHandle context, unsigned* version) {
  return api(__func__, [&] {
    need_pointer(version);
    if (context != nullptr) find_context(context);
    *version = 4;
    return Error::success;
  });
}

RAPT_HIP Error hipCtxSynchronize() {
  return api(__func__, [] {
    refuse_capture();
    return current_device().synchronize();
  });
}

RAPT_HIP Error hipCtxGetFlags(unsigned* flags) {
  return api(__func__, [&] {
    need_pointer(flags);
    *flags = current_device().flags;
    return Error::success;
  });
}

RAPT_HIP Error hipCtxGetCacheConfig(int* value) { return config(__func__, value, 0); }
RAPT_HIP Error hipCtxSetCacheConfig(int) {
  return api(__func__, [] { return Error::success; });
}
RAPT_HIP Error hipCtxGetSharedMemConfig(int* value) { return config(__func__, value, 1); }
RAPT_HIP Error hipCtxSetSharedMemConfig(int) {
  return api(__func__, [] { return Error::success; });
}

RAPT_HIP Error hipDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return api(__func__, [&] {
    const Device& found = Runtime::get().device(device);
    if (flags != nullptr) *flags = found.flags;
    if (active != nullptr) *active = 1;
    return Error::success;
  });
}
RAPT_HIP Error hipDevicePrimaryCtxRetain(ContextHandle* context, int device) {
  return api(__func__, [&] {
    Device& found = Runtime::get().device(device);
    need_pointer(context);
    *context = &found;
    return Error::success;
  });
}
RAPT_HIP Error hipDevicePrimaryCtxRelease(int device) {
  return api(__func__, [&] {
    Runtime::get().device(device);
    return Error::success;
  });
}
RAPT_HIP Error hipDevicePrimaryCtxReset(int device) {
  return api(__func__, [&] {
    Device& found = Runtime::get().device(device);
    static_cast<void>(found.synchronize());
    found.failure = Error::success;
    return Error::success;
  });
}
RAPT_HIP Error hipDevicePrimaryCtxSetFlags(int device, unsigned flags) {
  return api(__func__, [&] {
    Runtime::get().device(device).flags = flags;
    return Error::success;
  });
}
