// Work of the vector unit between products: kernels whose waves do not hide each other's latencies put it there
// themselves, and keep the compiler from moving it.
#pragma once

#include "kernels/amd/isa/device.hpp"

namespace rapt::amd {

DEVICE void fence() { __builtin_amdgcn_sched_barrier(0); }

// Part `n` of `Parts` of range [0, Count).
template <int Count, int Parts, class F>
DEVICE void share(int n, F f) {
#pragma unroll
  for (int i = n * Count / Parts; i < (n + 1) * Count / Parts; ++i) f(i);
}

template <int N>
struct Number {
  static constexpr int value = N;
};
// f(Number<n>) for n in [Begin, End): a loop that the compiler would find too long to unroll.
template <int Begin, int End, class F>
DEVICE void unrolled(F f) {
  if constexpr (Begin < End) {
    f(Number<Begin>{});
    unrolled<Begin + 1, End>(f);
  }
}

}  // namespace rapt::amd
