// lse and delta of the rows that a lane has elements of, in a tile.
#pragma once

#include "kernels/cdna/tile/buffer_tiles.hpp"
#include "kernels/common/keys.hpp"

namespace rapt::amd {

// The numbers of a lane's rows in a tile of 32.
template <class T>
struct RowStatistics {
  static constexpr int kLoads = kRegisters / 2;  // of two rows each
  static constexpr float kExcluded = 0;          // a logit

  u32x4 pair[kLoads];

  DEVICE_MEMBER float negative_lse(int r) const { return lse(r) * -kLog2e; }
  DEVICE_MEMBER float delta(int r) const { return as_float(pair[r / 2][r % 2 * 2 + 1]); }
  // Row r has no P and dS if it is not one that `attends`. `again`: the lse of other rows has been subtracted already.
  DEVICE_MEMBER void exclude(int r, bool attends, bool again) {
    const float new_lse = attends ? (again ? 0 : lse(r)) : __builtin_inff(), new_delta = attends ? delta(r) : 0;
    pair[r / 2][r % 2 * 2] = __builtin_bit_cast(uint32_t, new_lse);
    pair[r / 2][r % 2 * 2 + 1] = __builtin_bit_cast(uint32_t, new_delta);
  }

 private:
  DEVICE_MEMBER float lse(int r) const { return as_float(pair[r / 2][r % 2 * 2]); }
  DEVICE float as_float(uint32_t x) { return __builtin_bit_cast(float, x); }
};

// The rows of a head, read tile after tile; 0 past the last one.
template <class T>
class StatisticsRows {
  using M = Matrix<T>;
  static constexpr int kBytes = sizeof(rapt_abi_row_statistics);

 public:
  DEVICE_MEMBER StatisticsRows(const rapt_abi_row_statistics* rows, const Keys& attended, int lane)
      : next_(reinterpret_cast<char*>(uniform(reinterpret_cast<int64_t>(rows + attended.begin)))),
        left_(uniform(attended.end - attended.begin)),
        from_(M::element(0, lane / kTile) * kBytes) {}

  // The next tile: load_part() starts a part of its loads.
  DEVICE_MEMBER __amdgpu_buffer_rsrc_t next() {
    const auto tile = tile_buffer(next_, left_, kBytes);
    next_ += kTile * kBytes;
    left_ -= kTile;
    return tile;
  }
  DEVICE_MEMBER void load_part(const __amdgpu_buffer_rsrc_t& tile, int n, RowStatistics<T>& to) const {
    to.pair[n] = __builtin_amdgcn_raw_buffer_load_b128(tile, from_, M::element(2 * n, 0) * kBytes, 0);
  }
  DEVICE_MEMBER void load(RowStatistics<T>& to) {
    const auto tile = next();
    load_all(tile, to);
  }
  // The tile that next() returned last.
  DEVICE_MEMBER void load_again(RowStatistics<T>& to) {
    next_ -= kTile * kBytes;
    left_ += kTile;
    load(to);
  }

 private:
  DEVICE_MEMBER void load_all(const __amdgpu_buffer_rsrc_t& tile, RowStatistics<T>& to) const {
#pragma unroll
    for (int n = 0; n < RowStatistics<T>::kLoads; ++n) load_part(tile, n, to);
  }

  char* next_;
  int left_;
  const int from_;
};

// The same where a lane owns the row, which all elements of a tile share.
struct OwnStatistics {
  static constexpr int kLoads = 0;
  static constexpr float kExcluded = kMasked;

  float lse_log2, delta_;

  DEVICE_MEMBER float negative_lse(int) const { return -lse_log2; }
  DEVICE_MEMBER float delta(int) const { return delta_; }
  DEVICE_MEMBER void exclude(int, bool, bool) const {}
};
// Nothing is loaded for it.
struct NoSource {
  DEVICE_MEMBER int next() const { return 0; }
  DEVICE_MEMBER void load(OwnStatistics&) const {}
  DEVICE_MEMBER void load_part(int, int, OwnStatistics&) const {}
};

// The same where a lane has them as two columns.
struct ColumnStatistics {
  static constexpr float kExcluded = 0;

  Tile negative_lse_, delta_;  // lse times -log2(e)

  DEVICE_MEMBER float negative_lse(int r) const { return negative_lse_[r]; }
  DEVICE_MEMBER float delta(int r) const { return delta_[r]; }
  DEVICE_MEMBER void exclude(int r, bool attends, bool again) {
    negative_lse_[r] = attends ? (again ? 0 : negative_lse_[r]) : kMasked;
    delta_[r] = attends ? delta_[r] : 0;
  }
};

// lse and delta of a step's rows in LDS, where a lane reads the numbers of its rows. Each wave has its own copy. A lane
// loads one number of a step.
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

  // Reads elements [4 * part, 4 * part + 4) of the lane's column.
  DEVICE_MEMBER void read(int part, ColumnStatistics& to) const {
    read(0, part, to.negative_lse_);
    read(kColumnBytes, part, to.delta_);
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
