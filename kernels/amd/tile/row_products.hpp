// delta, the inner products of rows of dout and out: the diagonal of O dO^T. With the instruction that computes V dO^T,
// so that the two are equal to the last bit where a row of out is one of V: a query that attends one key has no
// gradient.
#pragma once

#include "kernels/amd/tile/small_operands.hpp"

namespace rapt::amd {

// O dO^T of the wave's rows, from `first_row` on of `out`; `dout` is the lane's row.
template <class T, int Steps>
DEVICE Tile row_products(const char* out, int64_t seq, int dims, int first_row, int rows, int lane,
                         const typename Matrix<T>::Kept (&dout)[Steps]) {
  using M = Matrix<T>;
  typename M::A fragments[Steps] = {};
  const int row = first_row + M::unslot(M::a_row(lane));
  if (row < rows) load_fragments<T>(out + row * seq, dims, aligned(out, seq), M::a_offset(lane), fragments);
  Tile products = {};
#pragma unroll
  for (int c = 0; c < Steps; ++c) products = M::multiply(fragments[c], M::whole(dout[c]), products);
  add_small<T>(fragments, dout, products);
  return products;
}

// Each lane receives the element of its row of dO.
template <class M>
DEVICE float diagonal_of(const Tile& products, int lane) {
  float own = 0;
#pragma unroll
  for (int r = 0; r < kRegisters; ++r)
    if (M::element(r, lane / kTile) == lane % kTile) own = products[r];
  return query_sum(own);
}

}  // namespace rapt::amd
