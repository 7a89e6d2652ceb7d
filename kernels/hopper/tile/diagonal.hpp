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

// Statistics of a row from its lse and delta. A row that attends nothing has an lse of -Inf.
DEVICE rapt_abi_row_statistics statistics_from(float lse, float delta, float unit = kLog2e) {
  const bool attends = lse != -__builtin_inff();
  return {attends ? lse * unit : __builtin_inff(), attends ? delta : 0};
}

// The lse of a row of a head of q, which has `rows` rows; -Inf if the row does not exist.
DEVICE float lse_of(BackwardArguments& a, int batch, int head, int row) {
  const char* const of_head = reinterpret_cast<const char*>(a.lse.data) + batch * a.lse.batch + head * a.lse.head;
  return row < a.problem.seqlen_q ? *reinterpret_cast<const float*>(of_head + row * a.lse.query) : -__builtin_inff();
}

}  // namespace rapt::nvidia
