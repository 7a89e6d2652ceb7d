// Two tiles of K in LDS, in the order of Matrix::slot, read as fragments of rows.
#pragma once

#include "kernels/cdna/tile/buffered_rows.hpp"

namespace rapt::amd {

template <class T, int RowBytes>
struct BufferedKeyOrder {
  using Place = Swizzle<RowBytes>;
  DEVICE int slot(int row) { return Matrix<T>::slot(row); }
  DEVICE int unslot(int place) { return Matrix<T>::unslot(place); }
};

template <class T, int HeadDim, int KeyCount, int Waves>
class BufferedKeys : public BufferedRows<T, HeadDim, KeyCount, Waves,
                                         BufferedKeyOrder<T, HeadDim* static_cast<int>(sizeof(typename T::element))>> {
  using M = Matrix<T>;
  using Place = Swizzle<HeadDim* static_cast<int>(sizeof(typename T::element))>;
  using Base = BufferedRows<T, HeadDim, KeyCount, Waves,
                            BufferedKeyOrder<T, HeadDim* static_cast<int>(sizeof(typename T::element))>>;

 public:
  DEVICE_MEMBER BufferedKeys(const char* rows, int64_t seq, int head_dim, const Keys& attended, char* lds, int thread)
      : Base(rows, seq, head_dim, attended, lds, thread, kAll) {
    const int lane = thread % kWave;
#pragma unroll
    for (int c = 0; c < kPlaces; ++c) fragment_[c] = Place::place(M::a_row(lane), c * kStepBytes + M::a_offset(lane));
  }

  // Step `step` of operand A for keys [tile * kTile, (tile + 1) * kTile).
  DEVICE_MEMBER typename M::A fragment(int buffer, int tile, int step) const {
    const int at = tile * kTile * Base::row_bytes + step / kPlaces * kPlaces * kStepBytes;
    return *reinterpret_cast<const typename M::A*>(this->tile(buffer) + at + fragment_[step % kPlaces]);
  }

 private:
  static constexpr int kPlaces = Place::kSpan / kStepBytes;  // steps whose places differ by more than a constant

  int fragment_[kPlaces];
};

}  // namespace rapt::amd
