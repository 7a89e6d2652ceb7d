#include "gpu/memory.hpp"

#include "gpu/device.hpp"
#include "problem/error.hpp"

namespace rapt::gpu {

namespace {

// Runs a call of HIP on a device that exists.
template <class Body>
void on(int32_t id, const Body& body) {
  const Device& d = device(id);
  const Hip& hip = Hip::get();
  const DeviceScope scope(hip, id);
  body(hip, d);
}

}  // namespace

void* allocate(int32_t id, size_t bytes) {
  void* data = nullptr;
  if (bytes == 0) return data;
  on(id, [&](const Hip& hip, const Device& d) {
    constexpr HipError kOutOfMemory = 2;
    const HipError error = hip.hipMalloc(&data, bytes);
    if (error == kOutOfMemory) {
      hip.forget_error();
      throw Error(RAPT_OUT_OF_MEMORY,
                  cat(d.text(), " (", d.name, ", ", d.memory, " bytes) has no memory for ", uint64_t{bytes}, " bytes"));
    }
    hip.check(error, "allocating ", uint64_t{bytes}, " bytes on ", d.text());
  });
  return data;
}

void release(int32_t id, void* data) {
  if (data == nullptr) return;
  on(id, [&](const Hip& hip, const Device& d) { hip.check(hip.hipFree(data), "freeing memory of ", d.text()); });
}

void copy(int32_t id, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  on(id, [&](const Hip& hip, const Device& d) {
    hip.check(hip.hipMemcpy(to, from, bytes, kHipMemcpyDefault), "copying ", uint64_t{bytes}, " bytes to or from ",
              d.text());
  });
}

void synchronize(int32_t id) {
  on(id, [](const Hip& hip, const Device& d) { hip.check(hip.hipDeviceSynchronize(), "waiting for ", d.text()); });
}

}  // namespace rapt::gpu
