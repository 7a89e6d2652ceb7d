// Products of float32 rows in shared memory by fused multiply-adds. Three products of TF32 (mma.hpp) have 22 bits, too
// few for the backward pass under very large logits, and take longer. Each sum is over the dimensions in order, so A
// B^T and B A^T are equal to the last bit. So are dO V^T and the products that row_product.hpp computes from the same
// rows.
#pragma once

#include "kernels/nvidia/tile/staged_rows.hpp"

namespace rapt::nvidia {

struct alignas(16) Four {
  float x[4];
};

// S += A B^T, over the first `Dims` elements of rows. Both operands begin at row 0; `from` gives operands at other
// rows.
template <int Dims, int Tiles, int Columns, class A, class B>
DEVICE void add_float_products(const A& a, const B& b, TileC (&s)[Tiles][Columns]) {
  const int lane = a.thread % kWave;
  const auto load = [](const auto& rows, int row, int dim) {
    return *reinterpret_cast<const Four*>(rows.at(row) + dim);
  };
#pragma unroll 2
  for (int dim = 0; dim < Dims; dim += 4) {
    Four own[Tiles][2];
#pragma unroll
    for (int m = 0; m < Tiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) own[m][half] = load(a, m * kTile + half * 8 + lane / 4, dim);
#pragma unroll
    for (int n = 0; n < Columns; ++n) {
      Four others[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) others[i] = load(b, n * 8 + lane % 4 * 2 + i, dim);
      // One dimension after another: neighbouring instructions add to different sums.
#pragma unroll
      for (int d = 0; d < 4; ++d)
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int m = 0; m < Tiles; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              float& sum = s[m][n][2 * half + i];
              sum = __builtin_fmaf(own[m][half].x[d], others[i].x[d], sum);
            }
    }
  }
}

}  // namespace rapt::nvidia
