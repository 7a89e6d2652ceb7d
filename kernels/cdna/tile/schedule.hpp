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

// A step over a tile of which LDS has the rows once and the columns once. The first half multiplies by the next tile's
// rows, while this tile's columns are written; the second by this tile's columns, while the rows of the tile after the
// next are written. A barrier ends each half. That of the first comes before its last products, whose fragments have
// arrived: the matrix unit works while the other half's first ones are read.

// Of Work: M, kRowReads and kColumnReads, how many fragments each half multiplies by; row(i) and column(i), a fragment;
// multiply_rows(i, n, part) and multiply_columns(i, n, part), the product with part n of fragment i; first_half(n) and
// second_half(n), what else is done after product n, of which the columns' writes end in the first
// (kRowReads - kReadAhead) * M::parts; between_halves().
inline constexpr int kReadAhead = 4;  // fragments read from LDS before the product that needs them

template <class Work>
DEVICE void run_halves(Work& work) {
  using M = typename Work::M;
  constexpr int rows = Work::kRowReads, columns = Work::kColumnReads;
  typename M::A fragment[rows + columns];
  const auto read = [&](int i) {
    if (i < rows) fragment[i] = work.row(i);
    else if (i < rows + columns) fragment[i] = work.column(i - rows);
  };
  unrolled<0, kReadAhead>([&](auto i) { read(i.value); });
  fence();
  unrolled<0, rows * M::parts>([&](auto product) {
    constexpr int n = product.value, i = n / M::parts, part = n % M::parts;
    if (part == 0 && i + kReadAhead == rows) work.between_halves();
    if (part == 0) read(i + kReadAhead);
    work.multiply_rows(i, part, M::part(fragment[i], part));
    work.first_half(n);
    fence();
  });
  unrolled<0, columns * M::parts>([&](auto product) {
    constexpr int n = product.value, i = n / M::parts, part = n % M::parts;
    if (part == 0) read(rows + i + kReadAhead);
    work.multiply_columns(i, part, M::part(fragment[rows + i], part));
    work.second_half(n);
    fence();
  });
}

}  // namespace rapt::amd
