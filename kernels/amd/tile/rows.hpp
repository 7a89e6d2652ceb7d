// A workgroup's loads of rows of K or V from global memory.
#pragma once

#include "kernels/common/keys.hpp"

namespace rapt::amd {

template <class T>
struct Rows {
  static constexpr int element_bytes = sizeof(typename T::element);

  const char* data;  // row 0 of the sequence
  int64_t seq;       // stride in bytes
  int head_dim;
  int begin, end;  // rows that some query of the workgroup attends; the others are not read but taken as zeros
  // Load 16 bytes at a time (4 elements of V), from a scalar address and a 32-bit offset per lane.
  bool vectors;

  DEVICE_MEMBER Rows(const char* data, int64_t seq, int head_dim, const Keys& attended, int tile_rows)
      : data(data),
        seq(seq),
        head_dim(head_dim),
        begin(attended.begin),
        end(attended.end),
        vectors(aligned(data, seq) && head_dim % (16 / element_bytes) == 0 && seq >= 0 &&
                seq < 0x7FFFFFFF / tile_rows) {}

  DEVICE_MEMBER bool has(int first, int rows) const { return first >= begin && first + rows <= end; }
  DEVICE_MEMBER const char* at(int row, int dim) const { return data + row * seq + dim * element_bytes; }
  // Within a tile, which spans less than 2^31 bytes if vectors are loaded. `seq` is the member's value.
  DEVICE uint32_t offset(int row, int dim, int seq) { return static_cast<uint32_t>(row * seq + dim * element_bytes); }

  // Starts the loads of rows [first, first + TileRows); rows outside [begin, end) become zeros. for_pieces(f) calls
  // f(i, row, dim) for each of a wave's loads: a lane loads a vector V from row Layout::lane_row(lane) + row + j,
  // dimension Layout::lane_dim(lane) + dim, into part(i, j), for each j < Down.
  template <class Layout, class V, int TileRows, int Dims, int Down, class Pieces, class Part>
  DEVICE_MEMBER void load(int first, int lane, Pieces for_pieces, Part part) const {
    if (!vectors) return;
    const int row_bytes = static_cast<int>(seq);
    const auto lane_offset = static_cast<int>(offset(Layout::lane_row(lane), Layout::lane_dim(lane), row_bytes));
    const char* const tile = at(first, 0);
    const int opaque_bytes = opaque_uniform(row_bytes);  // otherwise the offsets of all loads would stay in registers
    const auto load_one = [&](int row, int dim, int at) {
      return load_unaligned<V, element_bytes>(tile + offset(row, dim, opaque_bytes), static_cast<uint32_t>(at));
    };
    if (has(first, TileRows) && head_dim == Dims) {
      const int at = opaque_copy(lane_offset);
      for_pieces([&](int i, int row, int dim) {
#pragma unroll
        for (int j = 0; j < Down; ++j) part(i, j) = load_one(row + j, dim, at);
      });
    } else {
      const int lane_again = opaque_thread_id() % kWave;
      const int low = begin - first - Layout::lane_row(lane_again);
      const auto count = static_cast<uint32_t>(end - begin);
      const int dims = head_dim - Layout::lane_dim(lane_again);
      for_pieces([&](int i, int row, int dim) {
#pragma unroll
        for (int j = 0; j < Down; ++j) {
          part(i, j) = V(0);
          if (static_cast<uint32_t>(row + j - low) < count && dim < dims)
            part(i, j) = load_one(row + j, dim, opaque_copy(lane_offset));
        }
      });
    }
  }

  // For rows that are not aligned or end within a vector: copies a tile element by element, each to place(row, dim) in
  // LDS. Elements outside become 0.
  template <int TileRows, int Dims, int Threads, class F>
  DEVICE_MEMBER void copy(int first, char* lds, F place) const {
    using element = typename T::element;
#pragma nounroll
    for (int n = opaque_thread_id(); n < TileRows * Dims; n += Threads) {
      const int row = n / Dims, dim = n % Dims;
      element x = {};
      if (first + row >= begin && first + row < end && dim < head_dim)
        x = load_unaligned<element, element_bytes>(at(first + row, dim));
      *reinterpret_cast<element*>(lds + place(row, dim)) = x;
    }
  }
};

}  // namespace rapt::amd
