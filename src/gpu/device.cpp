#include "gpu/device.hpp"

#include "base/error.hpp"
#include "gpu/per_device.hpp"

namespace rapt::gpu {

namespace {

Driver& opened_for(rapt_device id) {
  try {
    return driver_of(id.type);
  } catch (const Error& e) {
    throw Error(e.status(), cat(device_text(id), " cannot be used: ", e.what()));
  }
}

void check_exists(rapt_device id, Driver& driver) {
  const int32_t count = driver.device_count();
  if (count == 0)
    throw Error(RAPT_DEVICE_ERROR, cat(device_text(id), " does not exist: the ", driver.name(), " library ",
                                       driver.library(), " is there, but finds no device"));
  if (id.id >= 0 && id.id < count) return;
  const std::string first = device_text({id.type, 0}), last = device_text({id.type, count - 1});
  throw Error(RAPT_INVALID_ARGUMENT, cat(device_text(id), " does not exist, ", driver.name(), " has ", count, " device",
                                         count == 1 ? cat(": ", first) : cat("s: ", first, " to ", last)));
}

}  // namespace

int32_t device_count(rapt_device_type type) { return driver_of(type).device_count(); }

const Device& device(rapt_device id) {
  static auto& devices = *new PerDevice<const Device>;
  Driver& driver = opened_for(id);
  return devices.get(id, [&] {
    check_exists(id, driver);
    return std::make_unique<const Device>(Device{driver.properties(id.id), id, &driver});
  });
}

}  // namespace rapt::gpu
