#include "gpu/driver/driver.hpp"

#include <atomic>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gpu/driver/cuda/cuda_driver.hpp"
#include "gpu/driver/hip/hip_driver.hpp"

namespace rapt::gpu {

namespace {

std::atomic<Driver*>& installed(int32_t type) {
  static std::atomic<Driver*> hip{nullptr}, cuda{nullptr};
  if (type != RAPT_ROCM && type != RAPT_CUDA)
    throw Error(RAPT_INTERNAL_ERROR, cat("devices of type ", type, " have no driver"));
  return type == RAPT_ROCM ? hip : cuda;
}

}  // namespace

Driver& driver_of(int32_t type) {
  if (Driver* const driver = installed(type).load(std::memory_order_acquire)) return *driver;
  return type == RAPT_ROCM ? hip_driver() : cuda_driver();
}

void install_driver(Driver& driver) { installed(driver.type()).store(&driver, std::memory_order_release); }

bool Driver::captures(Stream stream) {
  bool capturing = false;
  check(is_capturing(stream, capturing), "asking whether the stream is being captured");
  return capturing;
}

Status Driver::encode_tensor_map(void* /*map*/, const TensorLayout& /*layout*/) {
  throw Error(RAPT_INTERNAL_ERROR, cat(name(), " has no tensor maps"));
}

void Driver::fail(Status status, const std::string& what) const {
  throw Error(RAPT_DEVICE_ERROR, cat(what, " failed: ", describe(status)));
}

void DeviceScope::fail(Status status) const {
  driver_.fail(status, cat("making ", device_text({driver_.type(), device_}), " the current device"));
}

}  // namespace rapt::gpu
