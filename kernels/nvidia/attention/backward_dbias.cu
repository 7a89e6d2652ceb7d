// dbias: the gradients of the logits, summed over the batches, heads, queries and keys that the bias is broadcast to. They
// are computed again, as in backward_dq, so that each element has one workgroup, which sums in a fixed order.
//
// A workgroup of RAPT_WAVES waves has RAPT_WAVES * 16 rows and RAPT_BLOCK_K columns of dbias of one batch and head.
#include "kernels/common/score_gradients.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/products.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kThreads = RAPT_WAVES * kWave;
inline constexpr int kRows = RAPT_WAVES * kTile, kKeyTiles = kKeys / 8;
using StagedQueries = StagedRows<T, kHeadDim, kRows, kThreads>;
using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
static_assert(RAPT_SHARED_BYTES == 2 * StagedQueries::kBytes + 2 * StagedKeys::kBytes, "shared= of the row");
static_assert(kRows * kKeys * sizeof(float) <= RAPT_SHARED_BYTES);

// Of a dimension in which an element of dbias has one index, or all `size` of them if bias is broadcast.
struct Range {
  int begin, end;
};
DEVICE Range range_of(bool broadcast, int index, int size) { return broadcast ? Range{0, size} : Range{index, index + 1}; }

// Adds the gradients of the tile's logits to the lane's sums.
DEVICE void add(BackwardArguments& a, const Block& block, int first_key, char* shared,
                TileC (&sums)[1][kKeyTiles]) {
  Problem& p = a.problem;
  const int thread = thread_id(), lane = thread % kWave, wave_row = thread / kWave * kTile;
  const int head_k = block.head / p.group;
  const Keys keys = keys_of(p, block, block.first_row, kRows);
  if (first_key >= keys.end || first_key + kKeys <= keys.begin) return;
  const auto queries = [&](const rapt_abi_rows& tensor, int head_dim, char* at) {
    return StagedQueries(first_row_of(tensor, block.batch, block.q, block.head), tensor.seq, head_dim, 0, block.q.count,
                         at, thread);
  };
  const auto staged_keys = [&](const rapt_abi_rows& tensor, int head_dim, char* at) {
    return StagedKeys(first_row_of(tensor, block.batch, block.k, head_k), tensor.seq, head_dim, keys.begin, keys.end,
                      at, thread);
  };
  char* const after_rows = shared + 2 * StagedQueries::kBytes;
  const StagedQueries q = queries(a.q, p.head_dim, shared);
  const StagedQueries dout = queries(a.dout, p.head_dim_v, shared + StagedQueries::kBytes);
  const StagedKeys k = staged_keys(a.k, p.head_dim, after_rows);
  const StagedKeys v = staged_keys(a.v, p.head_dim_v, after_rows + StagedKeys::kBytes);
  q.load(block.first_row);
  dout.load(block.first_row);
  k.load(first_key);
  v.load(first_key);
  wait_for_copies();
  barrier();
  TileC s[1][kKeyTiles], ds[1][kKeyTiles];
  multiply_transposed<T>([&](int, int dim) { return q.operand_a(wave_row, dim); }, k, s);
  multiply_transposed<T>([&](int, int dim) { return dout.operand_a(wave_row, dim); }, v, ds);
  const rapt_abi_row_statistics* const statistics =
      a.statistics.data + block.batch * a.statistics.batch + block.head * a.statistics.head + block.q.first;
  for_rows<1>([&](int m, int half) {
    const int row = block.first_row + wave_row + row_in_wave(m, half, lane);
    if (row >= block.q.count) return;
    const TileLogits<kKeyTiles> logits{s[m], half, lane}, gradients{ds[m], half, lane};
    score_gradients<true, Of::logits>(
        p, block, first_key, true, [&] { return query_of(p, block, row); }, statistics[row], logits, gradients);
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) sums[m][n][2 * half + i] += ds[m][n][2 * half + i];
  });
  barrier();  // everything has been read
}

// Stores the workgroup's elements: a row or column is summed if bias is broadcast to it.
DEVICE void store(BackwardArguments& a, int batch, int head, int first_row, int first_key, char* shared,
                  const TileC (&sums)[1][kKeyTiles]) {
  const int thread = thread_id(), lane = thread % kWave, wave_row = thread / kWave * kTile;
  float* const tile = reinterpret_cast<float*>(shared);
  for_rows<1>([&](int m, int half) {
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        tile[(wave_row + row_in_wave(m, half, lane)) * kKeys + n * 8 + lane % 4 * 2 + i] = sums[m][n][2 * half + i];
  });
  barrier();
  const bool one_row = a.dbias.sizes[2] == 1, one_column = a.dbias.sizes[3] == 1;
  const int columns = one_column ? 1 : kKeys;
#pragma unroll 1
  for (int n = thread; n < (one_row ? 1 : kRows) * columns; n += kThreads) {
    const int row = n / columns, column = n % columns;
    if (first_row + row >= a.dbias.sizes[2] || first_key + column >= a.dbias.sizes[3]) continue;
    const Range of_rows = range_of(one_row, row, kRows), of_columns = range_of(one_column, column, kKeys);
    float sum = 0;
#pragma unroll 1
    for (int i = of_rows.begin; i < of_rows.end; ++i)
#pragma unroll 1
      for (int j = of_columns.begin; j < of_columns.end; ++j) sum += tile[i * kKeys + j];
    store_float(static_cast<char*>(a.dbias.data) + batch * a.dbias.batch + head * a.dbias.head +
                    (first_row + row) * a.dbias.query + (first_key + column) * a.dbias.key,
                a.problem.bias_dtype, sum);
  }
}

DEVICE void backward_dbias(BackwardArguments& a, char* shared) {
  Problem& p = a.problem;
  const auto& sizes = a.dbias.sizes;
  const int key_tiles = (p.seqlen_k + kKeys - 1) / kKeys, id = workgroup_id();
  const int key_tile = id % key_tiles, tile = id / key_tiles % a.tiles, head = id / key_tiles / a.tiles % sizes[1];
  const int batch = id / key_tiles / a.tiles / sizes[1];
  if (sizes[3] == 1 && key_tile > 0) return;  // the first workgroup sums all keys
  const Range batches = range_of(sizes[0] == 1, batch, p.batch), heads = range_of(sizes[1] == 1, head, p.heads_q);
  const Range tiles = range_of(sizes[2] == 1, tile, (p.seqlen_q + kRows - 1) / kRows);
  const Range key_tile_range = range_of(sizes[3] == 1, key_tile, key_tiles);
  TileC sums[1][kKeyTiles] = {};
#pragma unroll 1
  for (int b = batches.begin; b < batches.end; ++b)
#pragma unroll 1
    for (int h = heads.begin; h < heads.end; ++h)
#pragma unroll 1
      for (int row = tiles.begin; row < tiles.end; ++row)
#pragma unroll 1
        for (int k = key_tile_range.begin; k < key_tile_range.end; ++k)
          add(a, block_at(p, {0, h, b}, row * kRows), k * kKeys, shared, sums);
  store(a, batch, head, tile * kRows, key_tile * kKeys, shared, sums);
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  extern __shared__ __align__(16) char shared[];
  rapt::nvidia::backward_dbias(arguments, shared);
}
