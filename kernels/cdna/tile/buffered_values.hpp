// Two tiles of V^T in LDS, like buffered_keys.hpp. Blocks of 4 keys by 4 dimensions are transposed in registers.
#pragma once

#include "kernels/cdna/tile/buffer_rows.hpp"
#include "kernels/cdna/tile/swizzle.hpp"
#include "kernels/amd/tile/transpose.hpp"

namespace rapt::amd {

template <class T, int HeadDim, int KeyCount, int Waves>
class BufferedValues {
  using M = Matrix<T>;
  using element = typename T::element;
  using Buffer = BufferRows<T, KeyCount>;
  static constexpr int row_bytes = KeyCount * static_cast<int>(sizeof(element));
  using Place = Swizzle<row_bytes>;

 public:
  static constexpr int element_bytes = Buffer::element_bytes, bytes = HeadDim * row_bytes;
  static_assert(element_bytes == 2);

  DEVICE_MEMBER BufferedValues(const char* rows, int64_t seq, int head_dim_v, const Keys& attended, char* lds,
                               int thread, int pass)
      : rows_(rows, seq, head_dim_v, attended, pass), lds_(lds), wave_(uniform(thread / kWave)) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int key = key_of(i, thread), dim = dim_of(i, thread);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        from_[i][j] = rows_.offset(key + j, dim);
        to_[i][j] = Place::place(row_of(M::slot(dim + j)), key * element_bytes);
      }
    }
    const int lane = thread % kWave;
#pragma unroll
    for (int c = 0; c < kPlaces; ++c)
      fragment_[c] = Place::place(row_of(M::a_row(lane)), c * kStepBytes + M::a_offset(lane));
  }

  DEVICE_MEMBER void start() {
    const auto tile = rows_.next();
#pragma unroll
    for (int i = 0; i < kLoads && has(i); ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        part_[i][j] = __builtin_amdgcn_raw_buffer_load_b64(tile, static_cast<int>(from_[i][j]), 0, 0);
  }
  // Writes the tile whose loads were started last, and starts those of the next one.
  DEVICE_MEMBER void stage(int buffer) {
    char* const tile = lds_ + buffer * bytes;
    if (__builtin_expect(rows_.vectors(), 1)) {
#pragma unroll
      for (int i = 0; i < kLoads && has(i); ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) *reinterpret_cast<u32x2*>(tile + to_[i][j]) = column(part_[i], j);
    } else {
      rows_.template each_element<HeadDim, Waves * kWave>([&](int key, int dim, element x) {
        *reinterpret_cast<element*>(tile + Place::place(row_of(M::slot(dim)), key * element_bytes)) = rows_.in_pass(x);
      });
    }
    start();
  }

  // Step `step` of operand A for dimensions [tile * kTile, (tile + 1) * kTile).
  DEVICE_MEMBER typename M::A fragment(int buffer, int tile, int step) const {
    const int at = buffer * bytes + tile * kTile * row_bytes + step / kPlaces * kPlaces * kStepBytes;
    return *reinterpret_cast<const typename M::A*>(lds_ + at + fragment_[step % kPlaces]);
  }

 private:
  // A wave loads 8 blocks of 4 keys by 8 blocks of 4 dimensions at once: whole sectors of memory.
  static constexpr int kPieces = KeyCount / 32 * (HeadDim / 32), kLoads = (kPieces + Waves - 1) / Waves;
  static_assert(KeyCount % 32 == 0 && HeadDim % 32 == 0);
  static constexpr int kPlaces = Place::kSpan / kStepBytes;

  // Whether this wave has an i-th piece.
  DEVICE_MEMBER bool has(int i) const { return (i + 1) * Waves <= kPieces || i * Waves + wave_ < kPieces; }
  DEVICE int key_of(int i, int thread) { return (i * Waves + thread / kWave) % (KeyCount / 32) * 32 + thread % 8 * 4; }
  // Lanes 8 apart, which the banks serve together, have dimensions 8 apart, that is, slots 4 apart.
  DEVICE int dim_of(int i, int thread) {
    const int lane = thread % kWave;
    return (i * Waves + thread / kWave) / (KeyCount / 32) * 32 +
           4 * ((lane >> 2 & 2) | (lane >> 4 & 1) | (lane >> 3 & 4));
  }
  // Where a slot's row is. Rows of half the banks alternate between the halves: so must slots that are written
  // together.
  DEVICE int row_of(int slot) { return Place::kRows == 1 ? slot : (slot & ~5) | (slot >> 2 & 1) | (slot & 1) << 2; }

  Buffer rows_;
  char* const lds_;
  const int wave_;
  uint32_t from_[kLoads][4];
  int to_[kLoads][4], fragment_[kPlaces];
  u32x2 part_[kLoads][4];
};

}  // namespace rapt::amd
