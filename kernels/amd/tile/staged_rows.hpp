// Stages one tile of K (and of V if the hardware transposes) from global memory through registers in LDS. The registers
// hold the next tile while the current one is computed.
//
// An address is the sum of a part that is uniform in the wave (SGPRs) and a part that is the same for all accesses of a
// lane, so addresses take few VGPRs and instructions.
#pragma once

#include "kernels/amd/tile/rows.hpp"

namespace rapt::amd {

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

  DEVICE_MEMBER StagedRows(const char* rows, int64_t seq, int head_dim, const Keys& attended, char* lds, int thread)
      : rows_(rows, seq, head_dim, attended, KeyCount),
        lds_(lds),
        wave_(uniform(thread / kWave)),
        lane_(thread % kWave) {}

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
  u32x4 part_[loads];
};

}  // namespace rapt::amd
