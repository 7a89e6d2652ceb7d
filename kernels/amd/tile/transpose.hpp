// Blocks of 4 rows by 4 elements of 16 bits, transposed in registers.
#pragma once

#include "kernels/amd/isa/device.hpp"

namespace rapt::amd {

// Column j of 4 rows of 4 elements.
DEVICE u32x2 column(const u32x2* row, int j) {
  const uint32_t select = j % 2 ? 0x07060302u : 0x05040100u;
  return {__builtin_amdgcn_perm(row[1][j / 2], row[0][j / 2], select),
          __builtin_amdgcn_perm(row[3][j / 2], row[2][j / 2], select)};
}

}  // namespace rapt::amd
