// A tile of rows in LDS whose rows are operand A: K in the forward pass. It goes from memory through registers, which
// hold the next tile while the current one is computed.
//
// An address is the sum of two parts: one is uniform in the wave (SGPRs), the other the same for all accesses of a
// lane. So addresses take few VGPRs and instructions.
#pragma once

#include "kernels/amd/tile/raised.hpp"
#include "kernels/common/keys.hpp"

namespace rapt::amd {

// A workgroup's loads of rows from memory.
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
  // f(i, row, dim) for each of a wave's loads. For each j < Down, a lane loads a vector V into part(i, j), from row
  // Layout::lane_row(lane) + row + j and dimension Layout::lane_dim(lane) + dim.
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
  DEVICE_MEMBER void copy(int first, char* lds, const Raised<T>& raised, F place) const {
    using element = typename T::element;
#pragma nounroll
    for (int n = opaque_thread_id(); n < TileRows * Dims; n += Threads) {
      const int row = n / Dims, dim = n % Dims;
      element x = {};
      if (first + row >= begin && first + row < end && dim < head_dim)
        x = load_unaligned<element, element_bytes>(at(first + row, dim));
      *reinterpret_cast<element*>(lds + place(row, dim)) = raised(x);
    }
  }
};

// Rows in the order of Matrix::slot. The padding shifts each row by 4 banks, so neither the 16-byte reads of a fragment
// nor the writes of lanes 4 apart, whose rows are 4 slots apart, have bank conflicts.
template <class T>
struct KeyOrder {
  using M = Matrix<T>;
  static constexpr int padding = 16;
  DEVICE int slot(int row) { return M::slot(row); }
  DEVICE int unslot(int place) { return M::unslot(place); }
  DEVICE int lane_row(int lane) { return unslot((lane & 4) | (lane >> 3 & 3) | (lane >> 2 & 8)); }
};

template <class T, int HeadDim, int KeyCount, int Waves, class Order = KeyOrder<T>>
class StagedRows {
 public:
  static constexpr int element_bytes = sizeof(typename T::element);
  static constexpr int row_bytes = HeadDim * element_bytes;
  static constexpr int stride = row_bytes + Order::padding, bytes = KeyCount * stride;

  DEVICE_MEMBER StagedRows(const char* rows, int64_t seq, int head_dim, const Keys& attended, char* lds, int thread,
                           const Raised<T>& raised)
      : rows_(rows, seq, head_dim, attended, KeyCount),
        lds_(lds),
        wave_(uniform(thread / kWave)),
        lane_(thread % kWave),
        raised_(raised) {}

  // Starts the loads of keys [first, first + KeyCount); keys that no query attends become zeros.
  DEVICE_MEMBER void load(int first) {
    rows_.template load<StagedRows, u32x4, KeyCount, HeadDim, 1>(
        first, lane_, [&](auto f) { for_pieces(f); }, [&](int i, int) -> u32x4& { return part_[i]; });
  }

  // Writes the loaded keys [first, first + KeyCount) to LDS.
  DEVICE_MEMBER void store(int first) const {
    if (rows_.vectors) {
      char* const to = lds_ + Order::slot(lane_row(lane_)) * stride + lane_dim(lane_) * element_bytes;
      for_pieces([&](int i, int row, int dim) {
        *reinterpret_cast<u32x4*>(to + (Order::slot(row) * stride + dim * element_bytes)) = raised_(part_[i]);
      });
    } else {
      rows_.template copy<KeyCount, HeadDim, Waves * kWave>(
          first, lds_, raised_, [](int row, int dim) { return Order::slot(row) * stride + dim * element_bytes; });
    }
  }

  static constexpr int lds_rows = KeyCount, row_elements = HeadDim;
  DEVICE_MEMBER char* row(int slot) const { return lds_ + slot * stride; }

 private:
  friend Rows<T>;
  // A wave loads 64 bytes of kWave / 4 rows at once.
  static constexpr int dims = 64 / element_bytes, down = kWave / 4, across = HeadDim / dims;
  static constexpr int pieces = KeyCount / down * across, loads = (pieces + Waves - 1) / Waves;
  static_assert(KeyCount % down == 0 && HeadDim % dims == 0);

  DEVICE int lane_dim(int lane) { return lane % 4 * (16 / element_bytes); }
  DEVICE int lane_row(int lane) { return Order::lane_row(lane); }

  // Calls f(i, row, dim) with where the wave's i-th piece begins.
  template <class F>
  DEVICE_MEMBER void for_pieces(F f) const {
    const int wave = opaque_uniform(wave_);
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int piece = i * Waves + wave;
      if (pieces % Waves != 0 && piece >= pieces) break;
      f(i, Order::unslot(piece / across * down), piece % across * dims);
    }
  }

  const Rows<T> rows_;
  char* const lds_;
  const int wave_, lane_;
  const Raised<T> raised_;
  u32x4 part_[loads];
};

}  // namespace rapt::amd
