// What both kernels of the pass without sums of dQ share (backward_dq_hopper.cu, backward_dkv_hopper.cu). All their
// tiles have 64 rows, of up to 256 dims: seven fit shared memory.
#pragma once

#include "kernels/hopper/attention/backward_again.hpp"
#include "kernels/hopper/attention/backward_score_options.hpp"
#include "kernels/hopper/attention/turns.hpp"
#include "kernels/hopper/isa/registers.hpp"
#include "kernels/hopper/attention/row_statistics.hpp"
#include "kernels/hopper/tile/diagonal.hpp"
#include "kernels/hopper/tile/ring.hpp"
#include "kernels/nvidia/tile/logits.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kRows = kGroupRows, kThreads = RAPT_WAVES * kWave;
inline constexpr int kGroups = RAPT_WAVES / 4 - 1;
static_assert(kGroups == 2 && RAPT_BLOCK_K == kRows);
// The registers of a multiprocessor that each thread has, and what the groups have of the others'.
inline constexpr int kFeederRegisters = 40, kRegisters = 232;

using Tile = Panels<kRows, kHeadDim>;
using Scores = Accumulators<kRows / 8>;
using Gradients = Accumulators<kHeadDim / 8>;
using Operands = Fragment[kRows / Tile::kStepColumns];
using Args = const rapt_hopper_backward_args;

DEVICE int lane() { return thread_id() % kWave; }
DEVICE bool leads() { return thread_id() % kGroupThreads == 0; }
// The first of the warp's rows within its group's.
DEVICE int warp_row() { return thread_id() / kWave % 4 * kWarpRows; }
// Tells the compiler that lanes have the same number: it then computes with it once for a warp.
DEVICE int same_in_all_lanes(int x) { return __shfl_sync(~0u, x, 0); }

// The same tile. The compiler knows only that all lanes have the same one, so it computes the descriptors of each
// product anew, in registers of the warp. Else it keeps the descriptors of all products in registers of the lanes.
DEVICE Tile anew(Tile tile) {
  asm volatile("" : "+r"(tile.address));
  return {static_cast<uint32_t>(same_in_all_lanes(static_cast<int>(tile.address)))};
}
// `bytes` later: the upper half of a descriptor stays, which the compiler does not see in a sum.
DEVICE MatrixDescriptor later(const MatrixDescriptor& d, int bytes) {
  return {d.bits >> 32 << 32 | (static_cast<uint32_t>(d.bits) + static_cast<uint32_t>(bytes >> 4))};
}

// Starts c = a * b^T, both of 64 rows, as a batch.
DEVICE void start_product(Scores& c, const Tile& a, const Tile& b) {
  const MatrixDescriptor rows = anew(a).rows(0), columns = anew(b).rows(0);
#pragma unroll
  for (int i = 0; i < kHeadDim / Tile::kStepColumns; ++i)
    multiply_rows(c, later(rows, Tile::along_columns(i)), later(columns, Tile::along_columns(i)), i > 0, T());
  products_end();
}
// Starts c += a * b, as a batch.
DEVICE void start_sum(Gradients& c, const Operands& a, const Tile& b) {
  const MatrixDescriptor rows = anew(b).transposed();
#pragma unroll
  for (int i = 0; i < kRows / Tile::kStepColumns; ++i)
    multiply_fragment(c, a[i], later(rows, Tile::along_rows(i)), T());
  products_end();
}

// 0, from signs of exponentials. The compiler cannot move them below what needs it.
DEVICE uint32_t zero_from(const Scores& s) {
  uint32_t signs = 0;
#pragma unroll
  for (int i = 0; i < kRows / 8; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) signs |= bits(s[i][e]);
  return signs >> 31;
}

}  // namespace rapt::nvidia
