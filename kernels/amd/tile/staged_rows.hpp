// K (and V where the hardware transposes) of one tile of keys, from global memory through registers into LDS. Registers
// hold the next tile while this one is computed.
//
// Each access has a place that is the same for the whole wave (scalar registers) and one that is the lane's for every
// access: so few vector registers and instructions go into addresses.
#pragma once

#include "kernels/amd/tile/rows.hpp"

namespace rapt::amd {

// Rows in the order of Matrix::slot. The padding puts a row 4 banks further: 16-byte reads of a fragment find no bank
// conflict, nor do the writes of lanes 4 apart, whose rows are 4 places apart.
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

  DEVICE_MEMBER StagedRows(const char* rows, int64_t seq, int head_dim, const Keys& attended, char* lds, int thread)
      : rows_(rows, seq, head_dim, attended, KeyCount),
        lds_(lds),
        wave_(uniform(thread / kWave)),
        lane_(thread % kWave) {}

  // Starts the loads of keys [first, first + KeyCount); those that no query attends become zeros.
  DEVICE_MEMBER void load(int first) {
    rows_.template load<StagedRows, u32x4, KeyCount, HeadDim, 1>(
        first, lane_, [&](auto f) { for_pieces(f); }, [&](int i, int) -> u32x4& { return part_[i]; });
  }

  // Writes what was loaded for keys [first, first + KeyCount).
  DEVICE_MEMBER void store(int first) const {
    if (rows_.vectors) {
      char* const to = lds_ + Order::slot(lane_row(lane_)) * stride + lane_dim(lane_) * element_bytes;
      for_pieces([&](int i, int row, int dim) {
        *reinterpret_cast<u32x4*>(to + (Order::slot(row) * stride + dim * element_bytes)) = part_[i];
      });
    } else {
      rows_.template copy<KeyCount, HeadDim, Waves * kWave>(
          first, lds_, [](int row, int dim) { return Order::slot(row) * stride + dim * element_bytes; });
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

  // f(i, row, dim): the wave's i-th piece begins there.
  template <class F>
  DEVICE_MEMBER void for_pieces(F f) const {
    const int wave = here_uniform(wave_);
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
  u32x4 part_[loads];
};

}  // namespace rapt::amd
