// The GPUs, listed once, so that check_gpu costs no more than finding the stream's device.
#pragma once

#include "aotriton/hip/hip.hpp"

namespace rapt::aot {

struct Device {
  int id = 0;
  const char* arch = "";  // "gfx942"
  uint32_t number = 0;    // 0x942
  int32_t compute_units = 0;
  bool has_kernels = false;  // Rapt has an archive for it, with both passes
};

// HIP, once it was opened; null if there is no GPU.
const Hip* hip();

// The device of a stream; of the null stream, the current one. Null, after fail(), if there is none.
const Device* device_of(HipStream stream);

// Makes a device the current one while it lives, then the former one again.
class CurrentDevice {
 public:
  explicit CurrentDevice(const Device& device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int former_ = -1;  // -1: the device was current already
};

}  // namespace rapt::aot
