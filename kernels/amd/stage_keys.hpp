// K of one tile of keys, from global memory through registers into LDS. Registers hold the next tile while this one is
// computed.
//
// Rows lie in the order of Matrix::slot and are padded by 16 bytes: 4 banks further a row, 16-byte reads of a fragment
// find no bank conflict, nor do the writes. Each access has a place that is the same for the whole wave (scalar
// registers) and one that is the lane's for every access: so few vector registers and instructions go into addresses.
#pragma once

#include "kernels/amd/rows.hpp"

namespace rapt::amd {

template <class T, int HeadDim, int KeyCount, int Waves>
class StagedKeys {
 public:
  static constexpr int element_bytes = sizeof(typename T::element);
  static constexpr int stride = HeadDim * element_bytes + 16, bytes = KeyCount * stride;

  DEVICE_MEMBER StagedKeys(const char* k, int64_t seq, int head_dim, const Keys& attended, char* lds)
      : rows_(k, seq, head_dim, attended, KeyCount), lds_(lds), wave_(uniform(thread_id() / kWave)) {}

  // Starts the loads of keys [first, first + KeyCount); those that no query attends become zeros.
  DEVICE_MEMBER void load(int first) {
    if (!rows_.vectors) return;
    const int seq = static_cast<int>(rows_.seq);
    const auto offset = static_cast<int>(Rows<T>::offset(lane_row(lane()), lane_dim(lane()), seq));
    const char* const tile = rows_.at(first, 0);
    const int row_bytes = here_uniform(seq);  // or the offsets of all loads would stay in registers
    const auto load = [&](int row, int dim, int at) {
      return load_unaligned<u32x4, element_bytes>(tile + Rows<T>::offset(row, dim, row_bytes),
                                                  static_cast<uint32_t>(at));
    };
    if (rows_.has(first, KeyCount) && rows_.head_dim == HeadDim) {
      const int at = here(offset);
      for_pieces([&](int i, int row, int dim) { part_[i] = load(row, dim, at); });
    } else {
      const int again = thread_id_again() % kWave;
      const int low = rows_.begin - first - lane_row(again);
      const auto count = static_cast<uint32_t>(rows_.end - rows_.begin);
      const int dims = rows_.head_dim - lane_dim(again);
      for_pieces([&](int i, int row, int dim) {
        part_[i] = u32x4(0);
        if (static_cast<uint32_t>(row - low) < count && dim < dims) part_[i] = load(row, dim, here(offset));
      });
    }
  }

  // Writes what was loaded for keys [first, first + KeyCount).
  DEVICE_MEMBER void store(int first) const {
    if (rows_.vectors) {
      char* const to = lds_ + M::slot(lane_row(lane())) * stride + lane_dim(lane()) * element_bytes;
      for_pieces([&](int i, int row, int dim) {
        *reinterpret_cast<u32x4*>(to + (M::slot(row) * stride + dim * element_bytes)) = part_[i];
      });
    } else {
      rows_.template copy<KeyCount, HeadDim, Waves * kWave>(
          first, lds_, [](int row, int dim) { return M::slot(row) * stride + dim * element_bytes; });
    }
  }

  DEVICE_MEMBER const char* row(int slot) const { return lds_ + slot * stride; }

 private:
  using M = Matrix<T>;
  // A wave loads 64 bytes of kWave / 4 rows at once. Lanes 4 apart have rows 4 places apart in LDS: other banks.
  static constexpr int dims = 64 / element_bytes, down = kWave / 4, across = HeadDim / dims;
  static constexpr int pieces = KeyCount / down * across, loads = (pieces + Waves - 1) / Waves;
  static_assert(KeyCount % down == 0 && HeadDim % dims == 0);

  DEVICE int lane() { return thread_id() % kWave; }
  DEVICE int lane_dim(int lane) { return lane % 4 * (16 / element_bytes); }
  DEVICE int lane_row(int lane) { return M::unslot((lane & 4) | (lane >> 3 & 3) | (lane >> 2 & 8)); }

  // f(i, row, dim): the wave's i-th piece begins there.
  template <class F>
  DEVICE_MEMBER void for_pieces(F f) const {
    const int wave = here_uniform(wave_);
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int piece = i * Waves + wave;
      if (pieces % Waves != 0 && piece >= pieces) break;
      f(i, M::unslot(piece / across * down), piece % across * dims);
    }
  }

  const Rows<T> rows_;
  char* const lds_;
  const int wave_;
  u32x4 part_[loads];
};

}  // namespace rapt::amd
