// A wave's products with rows in shared memory: the wave has tiles of 16 rows of the result, and each load of the
// shared rows into registers serves all of them.
#pragma once

#include "kernels/nvidia/tile/staged_rows.hpp"

namespace rapt::nvidia {

// A lane has parts of two rows of each tile: f(tile, half) for each, as in TileLogits.
template <int Tiles, class F>
DEVICE void for_rows(F f) {
#pragma unroll
  for (int m = 0; m < Tiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) f(m, half);
}

// Of the wave's rows, that of the lane.
DEVICE int row_in_wave(int m, int half, int lane) { return m * kTile + half * 8 + lane / 4; }

// Rounded results: p[m][n][half] has two neighbours in a row of s[m][n].
template <class T, int Tiles, int Columns>
using Rounded = typename T::pair[Tiles][Columns][2];

// Operand A of tile m, its columns from those of n-tile n on.
template <class T, int Tiles, int Columns>
DEVICE Fragment operand_of(const Rounded<T, Tiles, Columns>& p, int m, int n) {
  if constexpr (kStep<T> == 16) return {{p[m][n][0], p[m][n][1], p[m][n + 1][0], p[m][n + 1][1]}};
  else return {{bits(p[m][n][0].x), bits(p[m][n][1].x), bits(p[m][n][0].y), bits(p[m][n][1].y)}};
}

// S = A B^T. `a_of(m, dim)` is operand A of tile m, the columns of S are the rows of `b`.
template <class T, int Tiles, int Columns, class A, class B>
DEVICE void multiply_transposed(const A& a_of, const B& b, TileC (&s)[Tiles][Columns]) {
#pragma unroll
  for (int m = 0; m < Tiles; ++m)
#pragma unroll
    for (int n = 0; n < Columns; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[m][n][i] = 0;
#pragma unroll
  for (int dim = 0; dim < B::kDims; dim += kStep<T>) {
    Fragment a[Tiles];
#pragma unroll
    for (int m = 0; m < Tiles; ++m) a[m] = a_of(m, dim);
#pragma unroll
    for (int n = 0; n < Columns; n += 2) {
      const Fragment rows = b.operands_b(n * 8, dim);
#pragma unroll
      for (int m = 0; m < Tiles; ++m) {
        multiply(s[m][n], a[m], rows.x[0], rows.x[1], T());
        multiply(s[m][n + 1], a[m], rows.x[2], rows.x[3], T());
      }
    }
  }
}

// Two such products side by side: twice as many instructions that do not wait for one another. Exchanged: each is equal
// to the last bit to that of B and A, transposed.
template <class T, bool Exchanged = false, int Tiles, int Columns, class A, class B, class OtherA, class OtherB>
DEVICE void multiply_transposed(const A& a_of, const B& b, TileC (&s)[Tiles][Columns], const OtherA& other_a_of,
                                const OtherB& other_b, TileC (&other)[Tiles][Columns]) {
#pragma unroll
  for (int m = 0; m < Tiles; ++m)
#pragma unroll
    for (int n = 0; n < Columns; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[m][n][i] = other[m][n][i] = 0;
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
        multiply<Exchanged>(s[m][n], a[m], rows.x[0], rows.x[1], T());
        multiply<Exchanged>(other[m][n], other_a[m], other_rows.x[0], other_rows.x[1], T());
        multiply<Exchanged>(s[m][n + 1], a[m], rows.x[2], rows.x[3], T());
        multiply<Exchanged>(other[m][n + 1], other_a[m], other_rows.x[2], other_rows.x[3], T());
      }
    }
  }
}

// O += A B. `a_of(m, row)` is operand A of tile m, whose columns are multiplied by kStep rows of `b` from `row` on.
template <class T, int Rows, int Tiles, int DimTiles, class A, class B>
DEVICE void add_product(const A& a_of, const B& b, TileC (&o)[Tiles][DimTiles]) {
#pragma unroll
  for (int row = 0; row < Rows; row += kStep<T>) {
    Fragment a[Tiles];
#pragma unroll
    for (int m = 0; m < Tiles; ++m) a[m] = a_of(m, row);
#pragma unroll
    for (int d = 0; d < DimTiles; d += 2) {
      const Fragment rows = b.operands_b_transposed(row, d * 8);
#pragma unroll
      for (int m = 0; m < Tiles; ++m) {
        multiply(o[m][d], a[m], rows.x[0], rows.x[1], T());
        multiply(o[m][d + 1], a[m], rows.x[2], rows.x[3], T());
      }
    }
  }
}

// O += P B
template <class T, int Tiles, int Columns, int DimTiles, class B>
DEVICE void add_product(const Rounded<T, Tiles, Columns>& p, const B& b, TileC (&o)[Tiles][DimTiles]) {
  add_product<T, 8 * Columns>([&](int m, int row) { return operand_of<T, Tiles, Columns>(p, m, row / 8); }, b, o);
}

}  // namespace rapt::nvidia
