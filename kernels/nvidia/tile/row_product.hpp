// delta, the inner products of rows of dout and out: the diagonal of dO O^T. With the instruction that computes dO V^T,
// so that the two are equal to the last bit where a row of out is one of V: a query that attends one key has no
// gradient.
#pragma once

#include "kernels/nvidia/tile/staged_rows.hpp"

namespace rapt::nvidia {

// The lane's 4 bytes of 16 bytes of a row with `dims` elements, from `dim` on; zeros behind them, and if `row` is null.
template <class T>
DEVICE uint32_t load_word(const char* row, int dim, int dims, bool vectors) {
  using element = typename T::element;
  const auto* const elements = reinterpret_cast<const element*>(row);
  dim += thread_id() % 4 * (4 / static_cast<int>(sizeof(element)));
  if (row == nullptr || dim >= dims) return 0;
  if constexpr (sizeof(element) == 4) return bits(elements[dim]);
  else if (vectors) return *reinterpret_cast<const uint32_t*>(elements + dim);
  else return elements[dim] | (dim + 1 < dims ? static_cast<uint32_t>(elements[dim + 1]) << 16 : 0);
}

// Those of 16 rows, `row` and on of `dout`, which is staged, and the lane's rows of out, l / 4 and l / 4 + 8; null if
// they do not exist. Each lane receives the products of its two rows.
template <class T, class Staged>
DEVICE void row_products(const Staged& dout, int row, const char* const (&out)[2], int dims, bool vectors,
                         float (&products)[2]) {
  const int lane = thread_id() % kWave, own = lane / 4;
  TileC c[2] = {};
#pragma unroll 4
  for (int dim = 0; dim < Staged::kDims; dim += kStep<T>) {
    const Fragment a = dout.operand_a(row, dim);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t b0 = load_word<T>(out[half], dim, dims, vectors);
      const uint32_t b1 = load_word<T>(out[half], dim + kStep<T> / 2, dims, vectors);
      multiply(c[half], a, b0, b1, T());
    }
  }
  // Row r of a tile has column r in lane 4 r + r / 2.
#pragma unroll
  for (int half = 0; half < 2; ++half)
    products[half] = __shfl_sync(~0u, own % 2 ? c[half][2 * half + 1] : c[half][2 * half], own * 4 + own / 2);
}

}  // namespace rapt::nvidia
