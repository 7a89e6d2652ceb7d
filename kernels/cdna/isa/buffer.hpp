// Buffer descriptors. The hardware checks offsets against a descriptor's length: loads from outside give zeros, and
// what is stored or added there is left out.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

inline constexpr int kBufferOfBytes = 0x00027000;  // the last word of a descriptor of bytes (CDNA3 ISA, 9.1.8)

// A tile of rows side by side, of which `left` are left; none if that is not above 0.
DEVICE __amdgpu_buffer_rsrc_t tile_buffer(char* data, int left, int row_bytes) {
  const int rows = left > kTile ? kTile : left;
  return __builtin_amdgcn_make_buffer_rsrc(data, 0, rows > 0 ? rows * row_bytes : 0, kBufferOfBytes);
}

}  // namespace rapt::amd
