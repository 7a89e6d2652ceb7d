// The gradient of a bias: the logits' gradients, summed over the batches, heads, queries and keys that it is broadcast
// to.
#pragma once

#include "kernels/common/scores.hpp"

namespace rapt::RAPT_VENDOR {

// A workgroup's tile of dbias: rows from `row` tiles on, columns from `column` tiles on.
struct BiasTile {
  int batch, head, row, column;
};

template <int Keys>
DEVICE BiasTile bias_tile_of(BackwardArguments& a) {
  const int columns = max((a.problem.seqlen_k + Keys - 1) / Keys, 1), id = workgroup_id(), tile = id / columns;
  const int heads = a.dbias.sizes[1];
  return {tile / a.tiles / heads, tile / a.tiles % heads, tile % a.tiles, id % columns};
}

// Calls add(block, first_key) in a fixed order for each tile of logits that `tile` sums over. If all keys share an
// element, the first column's workgroup takes all keys, and other workgroups none.
template <int Rows, int Keys, class Add>
DEVICE void for_tiles_of(BackwardArguments& a, const BiasTile& tile, const Add& add) {
  Problem& p = a.problem;
  const auto& sizes = a.dbias.sizes;
  const int batches = sizes[0] == 1 ? p.batch : 1, heads = sizes[1] == 1 ? p.heads_q : 1;
  const int rows = sizes[2] == 1 ? (p.seqlen_q + Rows - 1) / Rows : 1;
  const int columns = sizes[3] == 1 ? (p.seqlen_k + Keys - 1) / Keys : 1;
  // One counter for all four loops: AMD's scalar registers do not hold four.
#pragma unroll 1
  for (int n = 0; n < batches * heads * rows * columns; ++n) {
    const int row = n / columns, head = row / rows;
    const Place place = {0, tile.head + head % heads, tile.batch + head / heads};
    add(block_at(p, place, (tile.row + row % rows) * Rows), (tile.column + n % columns) * Keys);
  }
}

// Stores the workgroup's elements from `sums`, [Rows][Keys] in shared memory; rows or columns that share an element are
// added up.
template <int Rows, int Keys, int Threads>
DEVICE void store_bias_tile(BackwardArguments& a, const BiasTile& tile, const float* sums) {
  const auto& sizes = a.dbias.sizes;
  const bool one_row = sizes[2] == 1, one_column = sizes[3] == 1;
  const int columns = one_column ? 1 : Keys, first_row = tile.row * Rows, first_key = tile.column * Keys;
  char* const data = static_cast<char*>(a.dbias.data) + tile.batch * a.dbias.batch + tile.head * a.dbias.head;
#pragma unroll 1
  for (int n = thread_id(); n < (one_row ? 1 : Rows) * columns; n += Threads) {
    const int row = n / columns, column = n % columns;
    if (first_row + row >= sizes[2] || first_key + column >= sizes[3]) continue;
    float sum = 0;
#pragma unroll 1
    for (int i = row; i < (one_row ? Rows : row + 1); ++i)
#pragma unroll 1
      for (int j = column; j < (one_column ? Keys : column + 1); ++j) sum += sums[i * Keys + j];
    store_float(data + (first_row + row) * a.dbias.query + (first_key + column) * a.dbias.key, a.problem.bias_dtype,
                sum);
  }
}

}  // namespace rapt::RAPT_VENDOR
