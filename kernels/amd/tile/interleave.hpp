// Work of the vector unit between products: kernels whose waves do not hide each other's latencies put it there
// themselves, and keep the compiler from moving it.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

// Computed here: the compiler would otherwise move it to where it is used, and keep its operands in registers until then.
template <class V>
DEVICE void pin(V& tile, int r) {
  float x = tile[r];
  asm volatile("" : "+v"(x));
  tile[r] = x;
}
// clang 22 has all results of products in accumulation registers, or none, and decides by whether the kernel says that
// it needs some.
DEVICE void in_accumulators(Tile& sum) { asm volatile("" : "+a"(sum)); }
DEVICE void fence() { __builtin_amdgcn_sched_barrier(0); }

// Part `n` of `Parts` of range [0, Count).
template <int Count, int Parts, class F>
DEVICE void share(int n, F f) {
#pragma unroll
  for (int i = n * Count / Parts; i < (n + 1) * Count / Parts; ++i) f(i);
}

}  // namespace rapt::amd
