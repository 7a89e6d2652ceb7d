// The sums of dq that backward_fused adds to, in the order in which it adds: the 16 rows by 8 dimensions of a tile C
// are 512 bytes in a row, in the order of the lanes and their elements.
//
// The workspace's rows, those of all heads one after another, are in groups of 16. Behind the last one there is room
// for rows that do not exist, to which a workgroup adds zeros.
#pragma once

#include "kernels/nvidia/isa/mma.hpp"

#include "kernels/common/block.hpp"

namespace rapt::nvidia {

inline constexpr int kSumTile = kTile * 8;

// Of row `row` of a sequence, among those of the workspace.
DEVICE int64_t sum_row(BackwardArguments& a, int batch, const Span& q, int head, int row) {
  return batch * a.statistics.batch + head * a.statistics.head + q.first + row;
}
// The sums of dimensions 2 pair and the next, of the first 8. Those of the next 8 are kSumTile elements further.
DEVICE float* sums_of_row(BackwardArguments& a, int64_t row, int pair) {
  const int in_group = static_cast<int>(row % kTile);
  return a.dq_sum.data + row / kTile * kTile * a.dq_sum.dims + (in_group % 8 * 4 + pair) * 4 + in_group / 8 * 2;
}

// Sets those of a workgroup's rows to 0.
template <int Rows, int Threads>
DEVICE void clear_dq_sums(BackwardArguments& a, const Block& block) {
  const int pairs = static_cast<int>(a.dq_sum.dims) / 2, rows = min(block.q.count - block.first_row, Rows);
  const int64_t first = sum_row(a, block.batch, block.q, block.head, block.first_row);
#pragma unroll 4
  for (int n = thread_id(); n < Rows * pairs; n += Threads) {
    // Neighbours in memory, where a group begins with the first row.
    const int tile = n / 64, row = tile / (pairs / 4) * kTile + n % 2 * 8 + n % 64 / 8;
    if (row < rows)
      *reinterpret_cast<float2*>(sums_of_row(a, first + row, n % 8 / 2) + tile % (pairs / 4) * kSumTile) = {};
  }
}

DEVICE void add_to_memory(float* p, float x, float y) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(x), "f"(y) : "memory");
#else
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(p), "f"(x) : "memory");
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(p + 1), "f"(y) : "memory");
#endif
}
DEVICE void add_to_memory(float* p, const TileC& x) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p), "f"(x[0]), "f"(x[1]), "f"(x[2]),
               "f"(x[3])
               : "memory");
#else
  add_to_memory(p, x[0], x[1]);
  add_to_memory(p + 2, x[2], x[3]);
#endif
}

// Adds a wave's tiles: rows from `first` on, the first 8 dimensions from 8 tile on.
template <int Dims, int Tiles, int Columns>
DEVICE void add_to_dq_sums(BackwardArguments& a, int64_t first, int tile, const TileC (&dq)[Tiles][Columns]) {
  const int lane = thread_id() % kWave;
  if (first % kTile == 0) {
    float* const sums = a.dq_sum.data + first * Dims + tile * kSumTile + lane * 4;
#pragma unroll
    for (int m = 0; m < Tiles; ++m)
#pragma unroll
      for (int d = 0; d < Columns; ++d) add_to_memory(sums + m * kTile * Dims + d * kSumTile, dq[m][d]);
    return;
  }
  // A sequence that begins within a group: a lane's rows are in two groups.
  float* const sums[2] = {sums_of_row(a, first + lane / 4, lane % 4) + tile * kSumTile,
                          sums_of_row(a, first + lane / 4 + 8, lane % 4) + tile * kSumTile};
#pragma unroll
  for (int m = 0; m < Tiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int d = 0; d < Columns; ++d)
        add_to_memory(sums[half] + m * kTile * Dims + d * kSumTile, dq[m][d][2 * half], dq[m][d][2 * half + 1]);
}

// dq from the sums: a thread has 8 dimensions of a row at a time.
template <class T, int Rows, int Threads>
DEVICE void round_dq(BackwardArguments& a) {
  const Block block = block_of(a.problem, a.tiles, Rows);
  const int tiles = static_cast<int>(a.dq_sum.dims) / 8, head_dim = a.problem.head_dim;
  const float scale = a.problem.scale;
  const int64_t first = sum_row(a, block.batch, block.q, block.head, block.first_row);
  char* const dq = first_row_of(a.dq, block.batch, block.q, block.head);
  const bool vectors = aligned(dq, a.dq.seq) && head_dim % 8 == 0;
#pragma unroll 2
  for (int n = thread_id(); n < Rows * tiles; n += Threads) {
    // Two tiles side by side, so that neighbouring threads store 32 bytes of a row.
    const int in_group = n / 2 % kTile, group = n / (2 * kTile) / (tiles / 2);
    const int tile = n / (2 * kTile) % (tiles / 2) * 2 + n % 2, dim = tile * 8;
    const int row = block.first_row + group * kTile + in_group;
    if (row >= block.q.count || dim >= head_dim) continue;
    const float* const sums = sums_of_row(a, first + group * kTile + in_group, 0) + tile * kSumTile;
    alignas(16) typename T::pair rounded[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 sum = *reinterpret_cast<const float2*>(sums + 4 * i);
      rounded[i] = T::pack(sum.x * scale, sum.y * scale);
    }
    char* const to = dq + row * a.dq.seq;
    if (vectors) {
      *reinterpret_cast<uint4*>(to + dim * 2) = *reinterpret_cast<const uint4*>(rounded);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (dim + i < head_dim)
          reinterpret_cast<typename T::element*>(to)[dim + i] =
              static_cast<typename T::element>(rounded[i / 2] >> i % 2 * 16);
    }
  }
}

}  // namespace rapt::nvidia
