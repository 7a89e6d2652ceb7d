// Two tiles of V in LDS as they are in memory, for the transposing reads of gfx950 (values_in_rows.hpp).
#pragma once

#include "kernels/cdna/tile/buffered_rows.hpp"

namespace rapt::amd {

// 32 lanes read 64 bytes of 4 consecutive rows.
template <int RowBytes>
struct BufferedValueOrder {
  using Place = Swizzle<RowBytes, 64>;
  DEVICE int slot(int row) { return row; }
  DEVICE int unslot(int place) { return place; }
};

template <class T, int HeadDim, int KeyCount, int Waves>
class BufferedValuesInRows : public BufferedRows<T, HeadDim, KeyCount, Waves, BufferedValueOrder<HeadDim * 2>> {
  using Base = BufferedRows<T, HeadDim, KeyCount, Waves, BufferedValueOrder<HeadDim * 2>>;
  using Place = Swizzle<HeadDim * 2, 64>;

 public:
  DEVICE_MEMBER BufferedValuesInRows(const char* rows, int64_t seq, int head_dim_v, const Keys& attended, char* lds,
                                     int thread, int pass)
      : Base(rows, seq, head_dim_v, attended, lds, thread, pass) {
    const int lane = thread % kWave, key = lane / 32 * 8 + lane % 16 / 4;
#pragma unroll
    for (int c = 0; c < kPlaces; ++c)
      fragment_[c] = Place::place(key, (c * kTile + (lane & 16) + Matrix<T>::unslot(lane % 4 * 4)) * 2);
  }

  // Step `step` of operand A for dimensions [tile * kTile, (tile + 1) * kTile).
  DEVICE_MEMBER u32x4 fragment(int buffer, int tile, int step) const {
    const int at = step * 16 * Base::row_bytes + tile / kPlaces * kPlaces * kTile * 2;
    const char* const place = this->tile(buffer) + at + fragment_[tile % kPlaces];
    const u32x2 low = read(place), high = read(place + 4 * Base::row_bytes);
    return {low[0], low[1], high[0], high[1]};
  }

 private:
  static constexpr int kPlaces = Place::kSpan / 64;

  DEVICE u32x2 read(const char* place) {
    using Four = vec<short, 4>;
    using Shared = __attribute__((address_space(3))) Four;
    return __builtin_bit_cast(u32x2, __builtin_amdgcn_ds_read_tr16_b64_v4i16((Shared*)place));
  }

  int fragment_[kPlaces];
};

}  // namespace rapt::amd
