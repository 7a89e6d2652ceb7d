// Bytes of two words in any order. PTX ISA, "Data Movement and Conversion Instructions": prmt.
#pragma once

#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

// Four digits of `order` say which bytes of b:a the result has, the lowest first. A digit with bit 3 set takes 8 times
// that byte's sign.
DEVICE uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t order) {
  uint32_t x;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(x) : "r"(a), "r"(b), "r"(order));
  return x;
}

}  // namespace rapt::nvidia
