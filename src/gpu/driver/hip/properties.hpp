// Device properties from HIP, queried in a way that ROCm 5, 6 and 7 support.
#pragma once

#include "gpu/driver/driver.hpp"
#include "gpu/driver/hip/library.hpp"

namespace rapt::gpu {

DeviceProperties hip_properties(const Hip& hip, int32_t device);

}  // namespace rapt::gpu
