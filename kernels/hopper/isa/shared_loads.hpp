// Single numbers of shared memory. PTX ISA, "Data Movement and Conversion Instructions": ld.
#pragma once

#include "kernels/nvidia/isa/mma.hpp"

namespace rapt::nvidia {

DEVICE uint32_t load_shared_16(uint32_t address) {
  uint16_t x;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(x) : "r"(address) : "memory");
  return x;
}

DEVICE uint32_t load_shared_8(uint32_t address) {
  uint32_t x;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
  return x;
}

}  // namespace rapt::nvidia
