// From a wave's accumulators to rows of out.
#pragma once

#include "kernels/nvidia/tile/staged_rows.hpp"

namespace rapt::nvidia {

// A lane's part of a row of accumulators times a factor, rounded, to a staged row; `half` is as in TileLogits.
template <class T, int Tiles>
DEVICE void stage(typename T::element* row, const TileC (&o)[Tiles], int half, int lane, float factor) {
#pragma unroll
  for (int d = 0; d < Tiles; ++d)
    *reinterpret_cast<typename T::pair*>(row + d * 8 + lane % 4 * 2) =
        T::pack(o[d][2 * half] * factor, o[d][2 * half + 1] * factor);
}

// Stores rows [row, row + Rows) of `staged`, which this wave has written, as far as they and their `dims` elements
// exist: row i goes to out + i * seq.
template <int Rows, class Staged>
DEVICE void store_rows(const Staged& staged, int row, char* out, int64_t seq, int rows, int dims) {
  using element = typename Staged::element;
  constexpr int chunks = Staged::kRowBytes / 16;
  const int lane = staged.thread % kWave;
  wave_barrier();
  if (aligned(out, seq) && dims * Staged::kSize % 16 == 0) {
#pragma unroll
    for (int n = 0; n < Rows * chunks; n += kWave) {
      const int i = (n + lane) / chunks, dim = (n + lane) % chunks * (16 / Staged::kSize);
      if (i < rows && dim < dims)
        *reinterpret_cast<uint4*>(out + i * seq + dim * Staged::kSize) =
            *reinterpret_cast<const uint4*>(staged.at(row + i) + dim);
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < min(rows, Rows); ++i)
#pragma unroll 1
      for (int dim = lane; dim < dims; dim += kWave)
        *reinterpret_cast<element*>(out + i * seq + dim * Staged::kSize) = staged.at(row + i)[dim];
  }
  wave_barrier();
}

// The same for `Dims` elements of each row, from `first` on.
template <int Rows, int Dims, class Staged>
DEVICE void store_slice(const Staged& staged, int row, int first, char* out, int64_t seq, int rows, int dims) {
  using element = typename Staged::element;
  constexpr int chunks = Dims * Staged::kSize / 16;
  const int lane = staged.thread % kWave;
  wave_barrier();
  if (aligned(out, seq) && dims * Staged::kSize % 16 == 0) {
#pragma unroll
    for (int n = 0; n < Rows * chunks; n += kWave) {
      const int i = (n + lane) / chunks, dim = first + (n + lane) % chunks * (16 / Staged::kSize);
      if (i < rows && dim < dims)
        *reinterpret_cast<uint4*>(out + i * seq + dim * Staged::kSize) =
            *reinterpret_cast<const uint4*>(staged.at(row + i) + dim);
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < min(rows, Rows); ++i)
#pragma unroll 1
      for (int dim = first + lane; dim < min(dims, first + Dims); dim += kWave)
        *reinterpret_cast<element*>(out + i * seq + dim * Staged::kSize) = staged.at(row + i)[dim];
  }
  wave_barrier();
}

// Stores the lane's elements of a row of out, one by one; `half` is as in TileLogits.
template <class T, int Tiles>
DEVICE void store_elements(char* row, int dims, const TileC (&o)[Tiles], int half, int lane) {
#pragma unroll
  for (int d = 0; d < Tiles; ++d)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int dim = d * 8 + 2 * (lane % 4) + i;
      if (dim < dims) reinterpret_cast<typename T::element*>(row)[dim] = T::round(o[d][2 * half + i]);
    }
}

// Stores the elements in whose place Inf or NaN has been stored. NaN never takes the place of an earlier run's Inf.
template <class T, int Tiles>
DEVICE void replace_not_finite(char* row, int dims, const TileC (&o)[Tiles], int half, int lane, float factor) {
#pragma unroll
  for (int d = 0; d < Tiles; ++d)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int dim = d * 8 + 2 * (lane % 4) + i;
      if (dim >= dims) continue;
      auto& x = reinterpret_cast<typename T::element*>(row)[dim];
      const float next = o[d][2 * half + i];
      if (next == next && !is_finite(T::to_float(x))) x = T::round(next * factor);
    }
}

// Adds an infinity or NaN to the lane's elements of a row of out whose weight is not 0; `half` is as in TileLogits.
template <class T, int Tiles>
DEVICE void add_where_weighted(char* row, int dims, float addend, const TileC (&weights)[Tiles], int half, int lane) {
#pragma unroll
  for (int d = 0; d < Tiles; ++d)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int dim = d * 8 + 2 * (lane % 4) + i;
      if (dim >= dims || weights[d][2 * half + i] == 0) continue;
      auto& x = reinterpret_cast<typename T::element*>(row)[dim];
      x = T::round(T::to_float(x) + addend);
    }
}

}  // namespace rapt::nvidia
