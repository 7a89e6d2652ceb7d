// Rows of K or V in global memory, as a workgroup loads them.
#pragma once

#include "kernels/amd/tile/mask.hpp"

namespace rapt::amd {

template <class T>
struct Rows {
  static constexpr int element_bytes = sizeof(typename T::element);

  const char* data;  // row 0 of the sequence
  int64_t seq;       // bytes
  int head_dim;
  int begin, end;  // rows that some query of the workgroup attends: no other is read, zeros stand for them
  // Loaded 16 bytes at once (of V 4 elements), from a scalar address and a lane's offset of 32 bits.
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
  // Within a tile, which lies within 31 bits where vectors are loaded; `seq` is the member.
  DEVICE uint32_t offset(int row, int dim, int seq) { return static_cast<uint32_t>(row * seq + dim * element_bytes); }

  // Starts the loads of rows [first, first + TileRows); those outside become zeros. for_pieces(f) calls f(i, row, dim)
  // for each of a wave's loads, which has a vector V at row Layout::lane_row(lane) + row + j, dimension
  // Layout::lane_dim(lane) + dim, for each j < Down: part(i, j) is where that goes.
  template <class Layout, class V, int TileRows, int Dims, int Down, class Pieces, class Part>
  DEVICE_MEMBER void load(int first, int lane, Pieces for_pieces, Part part) const {
    if (!vectors) return;
    const int row_bytes = static_cast<int>(seq);
    const auto lane_offset = static_cast<int>(offset(Layout::lane_row(lane), Layout::lane_dim(lane), row_bytes));
    const char* const tile = at(first, 0);
    const int again_bytes = here_uniform(row_bytes);  // or the offsets of all loads would stay in registers
    const auto load_one = [&](int row, int dim, int at) {
      return load_unaligned<V, element_bytes>(tile + offset(row, dim, again_bytes), static_cast<uint32_t>(at));
    };
    if (has(first, TileRows) && head_dim == Dims) {
      const int at = here(lane_offset);
      for_pieces([&](int i, int row, int dim) {
#pragma unroll
        for (int j = 0; j < Down; ++j) part(i, j) = load_one(row + j, dim, at);
      });
    } else {
      const int again = thread_id_again() % kWave;
      const int low = begin - first - Layout::lane_row(again);
      const auto count = static_cast<uint32_t>(end - begin);
      const int dims = head_dim - Layout::lane_dim(again);
      for_pieces([&](int i, int row, int dim) {
#pragma unroll
        for (int j = 0; j < Down; ++j) {
          part(i, j) = V(0);
          if (static_cast<uint32_t>(row + j - low) < count && dim < dims)
            part(i, j) = load_one(row + j, dim, here(lane_offset));
        }
      });
    }
  }

  // Rows that begin anywhere, or end within a vector: a tile element by element, each to place(row, dim) in LDS. What
  // lies outside becomes 0.
  template <int TileRows, int Dims, int Threads, class F>
  DEVICE_MEMBER void copy(int first, char* lds, F place) const {
    using element = typename T::element;
#pragma nounroll
    for (int n = thread_id_again(); n < TileRows * Dims; n += Threads) {
      const int row = n / Dims, dim = n % Dims;
      element x = {};
      if (first + row >= begin && first + row < end && dim < head_dim)
        x = load_unaligned<element, element_bytes>(at(first + row, dim));
      *reinterpret_cast<element*>(lds + place(row, dim)) = x;
    }
  }
};

}  // namespace rapt::amd
