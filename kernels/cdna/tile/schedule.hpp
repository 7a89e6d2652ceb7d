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

// Tasks [0, Count), dealt out after products [Begin, End).
template <int Count, int Begin, int End, class F>
DEVICE void share_from(int n, F f) {
  if (n >= Begin && n < End) share<Count, End - Begin>(n - Begin, f);
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

inline constexpr int kReadAhead = 4;  // fragments read from LDS before the product that needs them

// The products of fragments [Begin, Begin + Count) of a turn's All: multiply(i, part, a) is that of part `part` of
// fragment Begin + i. Each is followed by after(n), its share of other work, which the compiler must not move. read(i)
// reads a fragment from LDS, kReadAhead fragments before the product that needs it.
template <class M, int Begin, int Count, int All, class Read, class Multiply, class After>
DEVICE void interleave(typename M::A (&fragment)[All], Read read, Multiply multiply, After after) {
  if (Begin == 0) {
#pragma unroll
    for (int i = 0; i < kReadAhead; ++i) fragment[i] = read(i);
    fence();
  }
  unrolled<0, Count * M::parts>([&](auto product) {
    constexpr int n = product.value, i = n / M::parts, part = n % M::parts, ahead = Begin + i + kReadAhead;
    if constexpr (part == 0 && ahead < All) fragment[ahead] = read(ahead);
    multiply(Number<i>{}, Number<part>{}, M::part(fragment[Begin + i], part));
    after(n);
    fence();
  });
}

}  // namespace rapt::amd
