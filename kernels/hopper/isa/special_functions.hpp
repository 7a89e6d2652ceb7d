// What kernels/nvidia/isa/device.hpp has only more exactly. PTX ISA, "Floating Point Instructions": rcp.
#pragma once

#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

// Within 1 ulp; 0 of an infinite or very large number.
DEVICE float rough_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace rapt::nvidia
