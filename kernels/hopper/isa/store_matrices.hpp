// Stores a fragment to shared memory, as load_matrices() of mma.hpp loads it.
// PTX ISA, "Warp-Level Matrix Instructions": stmatrix.
#pragma once

#include "kernels/nvidia/isa/mma.hpp"

namespace rapt::nvidia {

// Lanes 0 to 15 pass the addresses of 16 bytes of the fragment's 16 rows: of the first 8 columns; the other lanes of
// the last 8 columns.
DEVICE void store_matrices(uint32_t address, const Fragment& f) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(f.x[0]),
               "r"(f.x[1]), "r"(f.x[2]), "r"(f.x[3])
               : "memory");
}

}  // namespace rapt::nvidia
