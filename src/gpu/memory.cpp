#include "gpu/memory.hpp"

#include "base/error.hpp"
#include "gpu/device.hpp"

namespace rapt::gpu {

namespace {

// Runs calls of a driver on a device that exists.
template <class Body>
void on(rapt_device id, const Body& body) {
  const Device& d = device(id);
  const DeviceScope scope(*d.driver, id.id);
  body(*d.driver, d);
}

}  // namespace

void* allocate(rapt_device id, size_t bytes) {
  void* data = nullptr;
  if (bytes == 0) return data;
  on(id, [&](Driver& driver, const Device& d) {
    const Status status = driver.allocate(&data, bytes);
    if (driver.is_out_of_memory(status))
      throw Error(RAPT_OUT_OF_MEMORY,
                  cat(d.text(), " (", d.name, ", ", d.memory, " bytes) has no memory for ", uint64_t{bytes}, " bytes"));
    driver.check(status, "allocating ", uint64_t{bytes}, " bytes on ", d.text());
  });
  return data;
}

void release(rapt_device id, void* data) {
  if (data == nullptr) return;
  on(id, [&](Driver& driver, const Device& d) { driver.check(driver.free(data), "freeing memory of ", d.text()); });
}

void copy(rapt_device id, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  on(id, [&](Driver& driver, const Device& d) {
    driver.check(driver.copy(to, from, bytes), "copying ", uint64_t{bytes}, " bytes to or from ", d.text());
  });
}

void synchronize(rapt_device id) {
  on(id, [](Driver& driver, const Device& d) { driver.check(driver.synchronize_device(), "waiting for ", d.text()); });
}

}  // namespace rapt::gpu
