// Products of float32 rows in shared memory by fused multiply-adds. Three products of TF32 (mma.hpp) have 22 bits, too
// few for the backward pass under very large logits. Each sum is over the dimensions in order, so A B^T and B A^T are
// equal to the last bit, and dO V^T to what row_product.hpp computes of the same rows.
#pragma once

#include "kernels/nvidia/tile/staged_rows.hpp"

namespace rapt::nvidia {

// Adds the products of four elements, in order.
DEVICE float add_products(const float4& a, const float4& b, float sum) {
  sum = __builtin_fmaf(a.x, b.x, sum);
  sum = __builtin_fmaf(a.y, b.y, sum);
  sum = __builtin_fmaf(a.z, b.z, sum);
  return __builtin_fmaf(a.w, b.w, sum);
}

// S += A B^T, of the first `Dims` elements of rows. Of both operands row 0 is the first: `from` gives others.
template <int Dims, int Tiles, int Columns, class A, class B>
DEVICE void add_float_products(const A& a, const B& b, TileC (&s)[Tiles][Columns]) {
  const int lane = a.thread % kWave;
  const auto load = [](const auto& rows, int row, int dim) {
    return *reinterpret_cast<const float4*>(rows.at(row) + dim);
  };
#pragma unroll 4
  for (int dim = 0; dim < Dims; dim += 4) {
    float4 own[Tiles][2];
#pragma unroll
    for (int m = 0; m < Tiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) own[m][half] = load(a, m * kTile + half * 8 + lane / 4, dim);
#pragma unroll
    for (int n = 0; n < Columns; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float4 other = load(b, n * 8 + lane % 4 * 2 + i, dim);
#pragma unroll
        for (int m = 0; m < Tiles; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            s[m][n][2 * half + i] = add_products(own[m][half], other, s[m][n][2 * half + i]);
      }
  }
}

}  // namespace rapt::nvidia
