// How products find an operand in shared memory. PTX ISA, "Matrix Descriptor" of the wgmma instructions; "Strides" and
// "Swizzling Modes" say what its fields mean.
#pragma once

#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

// Describes a matrix in groups of eight rows of 128 bytes each, swizzled.
struct MatrixDescriptor {
  uint64_t bits;

  // `next_columns`: bytes from 64 columns to the next 64, which only an operand that is transposed while it is read
  // has.
  DEVICE MatrixDescriptor at(uint32_t address, int next_columns) {
    constexpr uint64_t kSwizzle128 = 1, kEightRows = 1024;
    return {uint64_t{address >> 4} | static_cast<uint64_t>(next_columns >> 4) << 16 | kEightRows >> 4 << 32 |
            kSwizzle128 << 62};
  }
  DEVICE_MEMBER MatrixDescriptor operator+(int bytes) const { return {bits + static_cast<uint64_t>(bytes >> 4)}; }
};

}  // namespace rapt::nvidia
