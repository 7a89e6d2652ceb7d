// dS of a step in LDS: a wave's lanes have a key each and write its column; then every wave reads whole rows, the
// operand A of dQ = dS K. No access has bank conflicts.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

template <class T, int Keys>
class ExchangedGradients {
  using M = Matrix<T>;
  static constexpr int kRowBytes = Keys * 2, kPlaces = 128 / kStepBytes;
  static_assert(sizeof(typename T::element) == 2 && kTile == 32 && kRowBytes % 128 == 0);

 public:
  static constexpr int bytes = kTile * kRowBytes, kSteps = Keys / M::step;

  // `key` is the lane's, of the workgroup's keys; the wave reads steps from first_step on.
  DEVICE_MEMBER ExchangedGradients(char* lds, int lane, int key, int first_step) : lds_(lds) {
    const int half = lane / kTile;
#pragma unroll
    for (int j = 0; j < 4; ++j) to_[j] = M::slot(8 * half) * kRowBytes + ((key * 2) ^ (M::slot(8 * half) + j) * 16);
#pragma unroll
    for (int c = 0; c < kPlaces; ++c) {
      const int row = M::a_row(lane);
      from_[c] = row * kRowBytes + first_step / kPlaces * 128 +
                 ((c * kStepBytes + M::a_offset(lane)) ^ (row ^ row >> 3) % 8 * 16);
    }
  }

  template <int Threads>
  DEVICE_MEMBER void clear(int thread) const {
    for (int at = thread * 16; at < bytes; at += Threads * 16) *reinterpret_cast<u32x4*>(lds_ + at) = u32x4{};
  }
  // The lane's key of query element(r, half): the low or the high half of `pair`, which has those of r and of r ^ 1.
  DEVICE_MEMBER void store(int r, uint32_t pair) const {
    const int row = M::slot(M::element(r, 0));  // without the half's bit
    auto* const place = reinterpret_cast<uint16_t*>(lds_ + row * kRowBytes + to_[(row ^ row >> 3) % 4]);
    *place = static_cast<uint16_t>(r % 2 ? pair >> 16 : pair);
  }
  DEVICE_MEMBER typename M::A fragment(int step) const {
    return *reinterpret_cast<const typename M::A*>(lds_ + step / kPlaces * 128 + from_[step % kPlaces]);
  }

 private:
  char* const lds_;
  int to_[4], from_[kPlaces];
};

}  // namespace rapt::amd
