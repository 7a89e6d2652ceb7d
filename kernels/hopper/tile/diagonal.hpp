// The diagonal of A B^T of 64 rows each: for rows of dO and O it is delta = rowsum(dO * O). The instruction is the one
// that makes dP. A row that attends one key then has dP equal to delta, to the last bit, and no gradient.
#pragma once

#include "kernels/hopper/tile/fragments.hpp"
#include "kernels/hopper/tile/panels.hpp"

namespace rapt::nvidia {

// The lane receives the two elements of its own rows.
DEVICE void diagonal_of(const Accumulators<kGroupRows / 8>& c, float (&own)[2]) {
  const int warp = thread_id() / kWave % 4, row = thread_id() % kWave / 4;
  // Row r of a warp's 16 has column 16 warp + r, in lane 4 r + r / 2 of the tile's 32.
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float pair[2] = {};
#pragma unroll
    for (int tile = half; tile < kGroupRows / 8; tile += 2)
      if (tile / 2 == warp) pair[0] = c[tile][2 * half], pair[1] = c[tile][2 * half + 1];
    own[half] = __shfl_sync(~0u, row % 2 ? pair[1] : pair[0], row * 4 + row / 2);
  }
}

}  // namespace rapt::nvidia
