// Products of tiles where a compiler or a matrix unit needs help: RDNA's must keep their order, and gfx90a's must not
// have small operands of fp16, which it takes for zero.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

// gfx90a's matrix unit takes fp16 operands below 2^-14 for zero, and P and dS are full of small elements. So each
// column is multiplied by a power of two of its own. That follows the largest element so far, as softmax's reference
// follows the maximum.
template <class T>
class OperandScale {
 public:
  template <int Tiles, int DimTiles>
  DEVICE_MEMBER void apply(Tile (&)[Tiles], Tile (&)[DimTiles]) {}
  DEVICE_MEMBER float undo() const { return 1; }
};

#ifdef __gfx90a__
template <>
class OperandScale<fp16> {
 public:
  // Scales p, the next operand, and where p outgrew the scale, `sums`, to which the products are added.
  template <int Tiles, int DimTiles>
  DEVICE_MEMBER void apply(Tile (&p)[Tiles], Tile (&sums)[DimTiles]) {
    float largest = 0;
#pragma unroll
    for (int t = 0; t < Tiles; ++t)
#pragma unroll
      for (int r = 0; r < kRegisters; ++r) largest = max(largest, __builtin_fabsf(p[t][r]));
    if (any_lane(outgrown(largest))) {
      largest = query_max(largest);
      // At 2^6 to 2^7, so that it is rarely outgrown again, and elements 2^-20 as large are kept.
      const float next = outgrown(largest) ? power(7 - static_cast<int>(exponent_of(largest))) : scale_;
      const float factor = next * undo();
#pragma unroll
      for (int d = 0; d < DimTiles; ++d) sums[d] *= factor;
      scale_ = next;
    }
#pragma unroll
    for (int t = 0; t < Tiles; ++t) p[t] *= scale_;
  }

  // The factor of the sums at the end.
  DEVICE_MEMBER float undo() const { return __builtin_bit_cast(float, (254u << 23) - bits(scale_)); }

 private:
  DEVICE float power(int exponent) { return __builtin_bit_cast(float, (127 + exponent) << 23); }
  DEVICE_MEMBER bool outgrown(float x) const { return x * scale_ > 0x1p14f; }

  float scale_ = 0x1p100f;
};
#endif

// Keeps products in order on RDNA. The compiler would load the operands of many of them first, also by moving products
// down to where they are used, and run out of registers.
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
