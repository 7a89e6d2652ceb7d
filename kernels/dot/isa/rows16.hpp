// The 16 rows of q of split-KV (amd/isa/rows16.hpp) without a matrix unit. 16 neighbouring lanes read four of a block's
// 16 keys, each lane a sixteenth of every row. A lane also has the scores of row lane % 16 of q with these four keys.
// Sums go from one form to the other by DPP, which reads other lanes among 16.
#pragma once

#include "kernels/dot/isa/dot.hpp"

namespace rapt::amd {

template <class T>
struct Rows16 {
  static constexpr int keys = 16, scores = 4;
};

// The value of another of the 16 lanes. The hardware's names: quad_perm, row_half_mirror, row_ror.
enum Dpp { kSwapOne = 0xb1, kSwapTwo = 0x4e, kMirrorEight = 0x141, kRotate = 0x120 };
template <int From>
DEVICE float from_neighbour(float x) {
  return __builtin_bit_cast(float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, x), From, 0xf, 0xf, true));
}
// That of lane (lane - N) % Lanes, of 4 or 16 lanes.
template <int Lanes, int N>
DEVICE float rotated(float x) {
  constexpr int quad[] = {0, 0x93, 0x4e, 0x39};
  if constexpr (N == 0) return x;
  else return from_neighbour < Lanes == 4 ? quad[N % 4] : kRotate + N > (x);
}

// Calls f.operator()<N>() for N from 0 below Count.
template <int Count, int N = 0, class F>
DEVICE void for_rotations(const F& f) {
  f.template operator()<N>();
  if constexpr (N + 1 < Count) for_rotations<Count, N + 1>(f);
}

// A dimension of O for the first `Rows` rows of q: x[n] is of row (lane - n) % Rows.
template <int Rows>
struct ResultRows {
  float x[Rows];

  DEVICE_MEMBER float operator[](int n) const { return x[n]; }
  // `factor` is that of row lane % Rows.
  DEVICE_MEMBER void operator*=(float factor) {
    for_rotations<Rows>([&]<int N>() { x[N] *= rotated<Rows, N>(factor); });
  }
};

using Result16 = ResultRows<16>;

// The sum over the 16 lanes of x[lane % Rows]. Each step exchanges half of what is left with a lane that has another
// bit: one keeps the upper half, the other the lower. With 4 rows, lanes 4 and 8 apart first add up all.
template <int Rows>
DEVICE float gathered(float (&x)[Rows]) {
  const int lane = opaque_thread_id();
  const auto halve = [&]<int Left, int From>() {
    const bool upper = lane & Left;
#pragma unroll
    for (int i = 0; i < (Left < Rows ? Left : Rows); ++i) {
      const float low = x[i], high = x[(i + Left) % Rows];
      if constexpr (Left >= Rows) x[i] += from_neighbour<From>(x[i]);
      else x[i] = (upper ? high : low) + from_neighbour<From>(upper ? low : high);
    }
  };
  halve.template operator()<8, kRotate + 8>();
  halve.template operator()<4, kMirrorEight>();
  halve.template operator()<2, kSwapTwo>();
  halve.template operator()<1, kSwapOne>();
  return x[0];
}

// sum + the product of `Count` neighbouring elements of two rows.
template <class T, int Count>
DEVICE float add_products(vec<typename T::element, Count> a, vec<typename T::element, Count> b, float sum) {
  if constexpr (__is_same(T, fp16)) {
    using Pair = vec<_Float16, 2>;
#pragma unroll
    for (int i = 0; i < Count; i += 2)
      sum = __builtin_amdgcn_fdot2(Pair{a[i], a[i + 1]}, Pair{b[i], b[i + 1]}, sum, false);
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i) sum = __builtin_fmaf(T::to_float(a[i]), T::to_float(b[i]), sum);
  }
  return sum;
}

}  // namespace rapt::amd
