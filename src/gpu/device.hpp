// The GPUs that drivers list. Properties are cached: devices do not change while a process runs.
#pragma once

#include <string>

#include "gpu/driver/driver.hpp"
#include "problem/tensor.hpp"

namespace rapt::gpu {

struct Device : DeviceProperties {
  rapt_device id = {};
  Driver* driver = nullptr;

  std::string text() const { return device_text(id); }  // "hip:0"
};

int32_t device_count(rapt_device_type type);  // 0 if the driver finds none; throws Error if there is no driver
const Device& device(rapt_device id);         // throws Error for one that its driver does not list

}  // namespace rapt::gpu
