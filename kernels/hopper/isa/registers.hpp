// Moves a workgroup's registers from the warps that copy to the warps that compute.
// PTX ISA, "Miscellaneous Instructions": setmaxnreg.
#pragma once

#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

// All warps of a group of four execute it. Registers of each thread afterwards, a multiple of 8.
template <int Registers>
DEVICE void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

}  // namespace rapt::nvidia
