#pragma once

#include "gpu/driver/driver.hpp"

namespace rapt::gpu {

// Throws Error if no HIP library can be opened, or it is too old; a later call tries again.
Driver& hip_driver();

}  // namespace rapt::gpu
