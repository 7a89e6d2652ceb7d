// A struct that is the same in all lanes and waits in the lanes of one vector register. A loop whose scalar registers
// are full of rows has no others for it.
#pragma once

#include "kernels/amd/isa/device.hpp"

namespace rapt::amd {

template <class X>
class Parked {
 public:
  DEVICE_MEMBER explicit Parked(const X& x) {
    const auto words = __builtin_bit_cast(Words, x);
    const int lane = opaque_thread_id() % kWave;
#pragma unroll
    for (int i = 0; i < kCount; ++i) lanes_ = lane == i ? words.x[i] : lanes_;
  }

  // Its value, read where this is called and not before the loop.
  DEVICE_MEMBER X here() const {
    const int lanes = opaque_copy(lanes_);
    Words words;
#pragma unroll
    for (int i = 0; i < kCount; ++i) words.x[i] = __builtin_amdgcn_readlane(lanes, i);
    return __builtin_bit_cast(X, words);
  }

 private:
  static constexpr int kCount = sizeof(X) / sizeof(int);
  static_assert(kCount * sizeof(int) == sizeof(X) && kCount <= kWave);
  struct alignas(X) Words {
    int x[kCount];
  };

  int lanes_ = 0;
};

}  // namespace rapt::amd
