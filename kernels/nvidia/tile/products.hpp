// A wave's products with rows in shared memory: the wave has tiles of 16 rows of the result, and each load of the
// shared rows into registers serves all of them.
#pragma once

#include <type_traits>

#include "kernels/nvidia/tile/float_products.hpp"

namespace rapt::nvidia {

// A lane has parts of two rows of each tile: f(tile, half) for each, as in TileLogits.
template <int Tiles, class F>
DEVICE void for_rows(F f) {
#pragma unroll
  for (int m = 0; m < Tiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) f(m, half);
}

// The lane's row among the wave's rows.
DEVICE int row_in_wave(int m, int half, int lane) { return m * kTile + half * 8 + lane / 4; }

// Rounded results: p[m][n][half] has two neighbours in a row of s[m][n].
template <class T, int Tiles, int Columns>
using Rounded = typename T::pair[Tiles][Columns][2];

// Operand A of tile m, with columns from n-tile n on.
template <class T, int Tiles, int Columns>
DEVICE Fragment operand_of(const Rounded<T, Tiles, Columns>& p, int m, int n) {
  if constexpr (kStep<T> == 16) return {{p[m][n][0], p[m][n][1], p[m][n + 1][0], p[m][n + 1][1]}};
  else return {{bits(p[m][n][0].x), bits(p[m][n][1].x), bits(p[m][n][0].y), bits(p[m][n][1].y)}};
}

// S += A B^T, for columns of S from `column` on, which are rows of `b`, over elements First to Last of the rows.
// `a_of(m, dim)` is operand A of tile m.
template <class T, int First, int Last, int Tiles, int Columns, class A, class B>
DEVICE void add_transposed(const A& a_of, const B& b, int column, TileC (&s)[Tiles][Columns]) {
#pragma unroll
  for (int dim = First; dim < Last; dim += kStep<T>) {
    Operand<T> a[Tiles];
#pragma unroll
    for (int m = 0; m < Tiles; ++m) a[m] = operand<T>(a_of(m, dim));
#pragma unroll
    for (int n = 0; n < Columns; n += 2) multiply(s, n, a, operand<T>(b.operands_b(column + n * 8, dim)), T());
  }
}

template <int Tiles, int Columns>
DEVICE void clear(TileC (&s)[Tiles][Columns]) {
#pragma unroll
  for (int m = 0; m < Tiles; ++m)
#pragma unroll
    for (int n = 0; n < Columns; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[m][n][i] = 0;
}

// True if products of logits are sums of two halves: as one sum of 16 steps, lse of bf16's outliers misses the rule.
template <class T, int Dims>
inline constexpr bool kInHalves = std::is_same_v<T, bf16> && Dims == 256;

// S = A B^T
template <class T, int Tiles, int Columns, class A, class B>
DEVICE void multiply_transposed(const A& a_of, const B& b, TileC (&s)[Tiles][Columns]) {
  clear(s);
  add_transposed<T, 0, B::kDims>(a_of, b, 0, s);
}

// The same for logits. The matrix unit truncates its sums. So each half of the rows is a sum of its own, and the second
// half is added outside the unit, for 16 columns at once, because registers do not hold more.
template <class T, int Tiles, int Columns, class A, class B>
DEVICE void multiply_logits(const A& a_of, const B& b, TileC (&s)[Tiles][Columns]) {
  if constexpr (!kInHalves<T, B::kDims>) return multiply_transposed<T>(a_of, b, s);
  clear(s);
  add_transposed<T, 0, B::kDims / 2>(a_of, b, 0, s);
#pragma unroll
  for (int n = 0; n < Columns; n += 2) {
    TileC rest[Tiles][2] = {};
    add_transposed<T, B::kDims / 2, B::kDims>(a_of, b, n * 8, rest);
#pragma unroll
    for (int m = 0; m < Tiles; ++m)
#pragma unroll
      for (int j = 0; j < 2; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) s[m][n + j][i] += rest[m][j][i];
  }
}

// Two such products side by side: twice as many instructions that do not wait for one another.
template <class T, int Tiles, int Columns, class A, class B, class OtherA, class OtherB>
DEVICE void multiply_transposed(const A& a_of, const B& b, TileC (&s)[Tiles][Columns], const OtherA& other_a_of,
                                const OtherB& other_b, TileC (&other)[Tiles][Columns]) {
  clear(s);
  clear(other);
#pragma unroll
  for (int dim = 0; dim < B::kDims; dim += kStep<T>) {
    Fragment a[Tiles], other_a[Tiles];
#pragma unroll
    for (int m = 0; m < Tiles; ++m) a[m] = a_of(m, dim), other_a[m] = other_a_of(m, dim);
#pragma unroll
    for (int n = 0; n < Columns; n += 2) {
      const Fragment rows = b.operands_b(n * 8, dim), other_rows = other_b.operands_b(n * 8, dim);
#pragma unroll
      for (int m = 0; m < Tiles; ++m) {
        multiply(s[m][n], a[m], rows.x[0], rows.x[1], T());
        multiply(other[m][n], other_a[m], other_rows.x[0], other_rows.x[1], T());
        multiply(s[m][n + 1], a[m], rows.x[2], rows.x[3], T());
        multiply(other[m][n + 1], other_a[m], other_rows.x[2], other_rows.x[3], T());
      }
    }
  }
}

// S = A B^T of rows in shared memory, with A's rows from `row` on. It is equal to the last bit to the transposed
// product of B and A. `row` is a reference because nvcc computes the addresses of 16-bit operands in more registers
// otherwise.
template <class T, int Tiles, int Columns, class A, class B>
DEVICE void multiply_rows(const int& row, const A& a, const B& b, TileC (&s)[Tiles][Columns]) {
  if constexpr (std::is_same_v<T, fp32>) {
    clear(s);
    add_float_products<B::kDims>(a.from(row, 0), b, s);
  } else {
    multiply_transposed<T>([&](int m, int dim) { return a.operand_a(row + m * kTile, dim); }, b, s);
  }
}

// Two such products, side by side for 16-bit types.
template <class T, int Tiles, int Columns, class A, class B, class OtherA, class OtherB>
DEVICE void multiply_rows(const int& row, const A& a, const B& b, TileC (&s)[Tiles][Columns], const OtherA& other_a,
                          const OtherB& other_b, TileC (&other)[Tiles][Columns]) {
  if constexpr (std::is_same_v<T, fp32>) {
    multiply_rows<T>(row, a, b, s);
    multiply_rows<T>(row, other_a, other_b, other);
  } else {
    multiply_transposed<T>([&](int m, int dim) { return a.operand_a(row + m * kTile, dim); }, b, s,
                           [&](int m, int dim) { return other_a.operand_a(row + m * kTile, dim); }, other_b, other);
  }
}

// O += A B. `a_of(m, row)` is operand A of tile m: its columns multiply kStep rows of `b` from `row` on.
template <class T, int Rows, int Tiles, int DimTiles, class A, class B>
DEVICE void add_product(const A& a_of, const B& b, TileC (&o)[Tiles][DimTiles]) {
#pragma unroll
  for (int row = 0; row < Rows; row += kStep<T>) {
    Operand<T> a[Tiles];
#pragma unroll
    for (int m = 0; m < Tiles; ++m) a[m] = operand<T>(a_of(m, row));
#pragma unroll
    for (int d = 0; d < DimTiles; d += 2) multiply(o, d, a, operand<T>(b.operands_b_transposed(row, d * 8)), T());
  }
}

// O += P B
template <class T, int Tiles, int Columns, int DimTiles, class B>
DEVICE void add_product(const Rounded<T, Tiles, Columns>& p, const B& b, TileC (&o)[Tiles][DimTiles]) {
  add_product<T, 8 * Columns>([&](int m, int row) { return operand_of<T, Tiles, Columns>(p, m, row / 8); }, b, o);
}

// O += (P - rounded) B, for 16-bit types.
template <class T, int Tiles, int Columns, int DimTiles, class B>
DEVICE void add_rest(const TileC (&p)[Tiles][Columns], const Rounded<T, Tiles, Columns>& rounded, const B& b,
                     TileC (&o)[Tiles][DimTiles]) {
  Rounded<T, Tiles, Columns> rest;
  for_rows<Tiles>([&](int m, int half) {
#pragma unroll
    for (int n = 0; n < Columns; ++n) {
      const uint32_t pair = rounded[m][n][half];
      rest[m][n][half] = T::pack(p[m][n][2 * half] - T::to_float(static_cast<uint16_t>(pair)),
                                 p[m][n][2 * half + 1] - T::to_float(static_cast<uint16_t>(pair >> 16)));
    }
  });
  add_product<T>(rest, b, o);
}

}  // namespace rapt::nvidia
