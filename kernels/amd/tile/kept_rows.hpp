// Products in an order that the compiler must keep on RDNA: it would load the operands of many of them first, also by
// moving products down to where they are used, and run out of registers.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

DEVICE void in_order(Tile& product) {
#ifndef RAPT_CDNA
  asm volatile("" : "+v"(product));
  __builtin_amdgcn_sched_barrier(0);
#endif
}

// Step c of the products of staged rows, tile by tile, with a row that the lane keeps in registers.
template <class M, class Rows, class Own, int Steps, int Tiles>
DEVICE void add_step(const Rows& rows, const Own (&own)[Steps], int c, int lane, Tile (&products)[Tiles]) {
  const typename M::B row = whole<M>(own[c]);
#pragma unroll
  for (int t = 0; t < Tiles; ++t) {
    products[t] = M::multiply(fragment<M>(rows.row(t * kTile + M::a_row(lane)), c, lane), row, products[t]);
    in_order(products[t]);
  }
}

// sums += values^T p for dimensions from first_dim on, as accumulate() in attend.hpp.
template <class T, int Tiles, int DimTiles, class Values>
DEVICE void accumulate_in_order(const Tile (&p)[Tiles], int lane, const Values& values, int first_dim,
                                Tile (&sums)[DimTiles]) {
  using M = Matrix<T>;
#pragma unroll
  for (int i = 0; i < Tiles * kParts<T>; ++i) {
    const typename M::B operand = M::operand(p[i / kParts<T>], i % kParts<T>);
#pragma unroll
    for (int d = 0; d < DimTiles; ++d) {
      sums[d] = M::multiply(values.fragment(first_dim + d * kTile, i, lane), operand, sums[d]);
      if (d % 2 == 1) in_order(sums[d]);
    }
  }
}

}  // namespace rapt::amd
