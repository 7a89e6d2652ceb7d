// Work of the vector unit between products: kernels whose waves do not hide each other's latencies put it there
// themselves, and keep the compiler from moving it.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

// Not later, where the compiler would move it, when its operands' registers are needed for something else.
template <class V>
DEVICE V computed_here(V x) {
  asm volatile("" : "+v"(x));
  return x;
}
// Element r of a product, from accumulation registers.
DEVICE void read_result(Tile& tile, int r) { tile[r] = computed_here(tile[r]); }
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
