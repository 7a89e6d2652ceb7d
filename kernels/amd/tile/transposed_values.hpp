// Stages one tile of V like staged_rows.hpp, but transposed: a row of V^T is one dimension of all keys, so that both
// operands are read as fragments of rows. Blocks of 4 keys by 4 dimensions are transposed in registers.
#pragma once

#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/amd/tile/rows.hpp"
#include "kernels/amd/tile/transpose.hpp"

namespace rapt::amd {

template <class T, int HeadDim, int KeyCount, int Waves>
class TransposedValues {
  using M = Matrix<T>;

 public:
  static constexpr int element_bytes = sizeof(typename T::element);
  static constexpr int row_bytes = KeyCount * element_bytes;
  static constexpr int stride = row_bytes + 16, bytes = HeadDim * stride;

  DEVICE_MEMBER TransposedValues(const char* v, int64_t seq, int head_dim_v, const Keys& attended, char* lds,
                                 int thread, int pass)
      : rows_(v, seq, head_dim_v, attended, KeyCount),
        lds_(lds),
        wave_(uniform(thread / kWave)),
        lane_(thread % kWave),
        pass_(pass) {}

  // Starts the loads of keys [first, first + KeyCount); keys that no query attends become zeros.
  DEVICE_MEMBER void load(int first) {
    rows_.template load<TransposedValues, Four, KeyCount, HeadDim, 4>(
        first, lane_, [&](auto f) { for_pieces(f); }, [&](int i, int j) -> Four& { return part_[i][j]; });
  }

  // Writes the loaded keys [first, first + KeyCount) to LDS.
  DEVICE_MEMBER void store(int first) const {
    if (rows_.vectors) {
      char* const to = lds_ + M::slot(lane_dim(lane_)) * stride + lane_row(lane_) * element_bytes;
      for_pieces([&](int i, int row, int dim) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          *reinterpret_cast<Four*>(to + (M::slot(dim + j) * stride + row * element_bytes)) = column(part_[i], j);
      });
    } else {
      rows_.template copy<KeyCount, HeadDim, Waves * kWave>(
          first, lds_, [](int row, int dim) { return M::slot(dim) * stride + row * element_bytes; });
    }
    replace<T, Waves>(pass_, *this);
  }

  // Step `step` of operand A for dimensions [first_dim, first_dim + kTile).
  DEVICE_MEMBER typename M::A fragment(int first_dim, int step, int lane) const {
    return amd::fragment<M>(row(first_dim + M::a_row(lane)), step, lane);
  }

  static constexpr int lds_rows = HeadDim, row_elements = KeyCount;
  DEVICE_MEMBER char* row(int slot) const { return lds_ + slot * stride; }

 private:
  friend Rows<T>;
  using Four = vec<uint32_t, element_bytes>;  // 4 elements
  // A wave loads 8 blocks of 4 keys by kWave / 8 blocks of 4 dimensions at once: whole sectors of memory. Lanes 8 apart
  // write to neighbouring addresses in LDS, that is, to different banks.
  static constexpr int down = 32, dims = kWave / 2, rows_of_pieces = KeyCount / down;
  static constexpr int pieces = rows_of_pieces * (HeadDim / dims), loads = (pieces + Waves - 1) / Waves;
  static_assert(KeyCount % down == 0 && HeadDim % dims == 0);

  DEVICE int lane_row(int lane) { return lane % 8 * 4; }
  DEVICE int lane_dim(int lane) { return 4 * ((lane >> 2 & 2) | (lane >> 4 & 1) | (lane >> 3 & 4)); }

  // Calls f(i, row, dim) with where the wave's i-th piece begins.
  template <class F>
  DEVICE_MEMBER void for_pieces(F f) const {
    const int wave = opaque_uniform(wave_);
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const int piece = i * Waves + wave;
      if (pieces % Waves != 0 && piece >= pieces) break;
      f(i, piece % rows_of_pieces * down, piece / rows_of_pieces * dims);
    }
  }

  // Column j of 4 rows of 4 elements.
  DEVICE u32x2 column(const u32x2* row, int j) { return amd::column(row, j); }
  DEVICE u32x4 column(const u32x4* row, int j) { return {row[0][j], row[1][j], row[2][j], row[3][j]}; }

  const Rows<T> rows_;
  char* const lds_;
  const int wave_, lane_, pass_;
  Four part_[loads][4];
};

}  // namespace rapt::amd
