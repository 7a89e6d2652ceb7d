// lse and delta of a step's rows in LDS, where a lane reads those of its elements. Each wave has its own copy. A lane
// loads one number of a step.
#pragma once

#include "kernels/cdna/isa/buffer.hpp"
#include "kernels/common/keys.hpp"

namespace rapt::amd {

template <class T>
class StagedStatistics {
  using M = Matrix<T>;
  static constexpr int kRowBytes = sizeof(rapt_abi_row_statistics), kColumnBytes = kTile * 4;

 public:
  static constexpr int bytes = 2 * kColumnBytes;  // of a wave

  DEVICE_MEMBER StagedStatistics(const rapt_abi_row_statistics* rows, const Keys& attended, char* lds, int lane)
      : next_(reinterpret_cast<char*>(uniform(reinterpret_cast<int64_t>(rows + attended.begin)))),
        left_(uniform(attended.end - attended.begin)),
        from_(lane % kTile * kRowBytes + lane / kTile * 4),
        factor_(lane < kTile ? -kLog2e : 1),
        to_(lds + lane * 4),
        column_(lds + M::element(0, lane / kTile) * 4) {}

  // The next step's: loads it; 0 past the last row.
  DEVICE_MEMBER void load() {
    const auto tile = tile_buffer(next_, left_, kRowBytes);
    loaded_ = __builtin_bit_cast(float, __builtin_amdgcn_raw_buffer_load_b32(tile, from_, 0, 0));
    next_ += kTile * kRowBytes;
    left_ -= kTile;
  }
  DEVICE_MEMBER void store() const { *reinterpret_cast<float*>(to_) = loaded_ * factor_; }

  // Of elements [4 * part, 4 * part + 4) of the lane's column: lse times -log2(e), and delta.
  DEVICE_MEMBER void read(int part, Tile& negative_lse, Tile& delta) const {
    read(0, part, negative_lse);
    read(kColumnBytes, part, delta);
  }

 private:
  DEVICE_MEMBER void read(int at, int part, Tile& to) const {
    const f32x4 x = *reinterpret_cast<const f32x4*>(column_ + at + M::element(4 * part, 0) * 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) to[4 * part + i] = x[i];
  }

  char* next_;
  int left_;
  const int from_;
  const float factor_;
  char *const to_, *const column_;
  float loaded_;
};

}  // namespace rapt::amd
