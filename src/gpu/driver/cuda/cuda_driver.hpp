#pragma once

#include "gpu/driver/driver.hpp"

namespace rapt::gpu {

Driver& cuda_driver();  // opens libcuda on first use; throws Error if it cannot

}  // namespace rapt::gpu
