// The rows of staged_rows.hpp as a tile of one wave, used for float32 in place of SwizzledTile. Float32 products take
// so long that requests of L2 do not matter, and swizzled addresses would take more registers.
#pragma once

#include "kernels/nvidia/tile/not_finite.hpp"

namespace rapt::nvidia {

template <class T, int Dims, int Rows>
struct PaddedTile : SharedRows<T, Dims> {
  using Staged = StagedRows<T, Dims, Rows, kWave>;
  static constexpr int kBytes = Staged::kBytes;

  DEVICE_MEMBER typename T::element* at(int row, int x) const { return SharedRows<T, Dims>::at(row) + x; }
  DEVICE_MEMBER void load(const char* data, int64_t seq, int dims, int begin, int end, int first) const {
    Staged(data, seq, dims, begin, end, this->shared, this->thread).load(first);
  }
};

// As in not_finite.hpp, for one wave.
template <bool Dropout, class T, int Dims, int Rows>
DEVICE void replace(int pass, const PaddedTile<T, Dims, Rows>& v) {
  replace<Dropout, Rows, kWave, T, Dims>(pass, v);
}

}  // namespace rapt::nvidia
