// dbias: the gradients of the logits, summed over the batches, heads, queries and keys that the bias is broadcast to.
// The logits' gradients are computed again, as in backward_dq, so that one workgroup sums each element in a fixed
// order. So is delta, by the instruction that computes dP: a row that attends one key has no gradient.
//
// A workgroup of RAPT_WAVES waves has RAPT_WAVES * 16 rows and RAPT_BLOCK_K columns of dbias of one batch and head.
#include "kernels/common/bias_gradient.hpp"
#include "kernels/common/huge.hpp"
#include "kernels/common/score_gradients.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/products.hpp"
#include "kernels/nvidia/tile/row_product.hpp"
#include "kernels/nvidia/tile/staged_tensors.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kThreads = RAPT_WAVES * kWave;
inline constexpr int kRows = RAPT_WAVES * kTile, kKeyTiles = kKeys / 8;
using StagedQueries = StagedRows<T, kHeadDim, kRows, kThreads>;
using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
static_assert(RAPT_SHARED_BYTES == 2 * StagedQueries::kBytes + 2 * StagedKeys::kBytes, "shared= of the row");
static_assert(kRows * kKeys * sizeof(float) <= RAPT_SHARED_BYTES);

// Adds the gradients of the tile's logits to the lane's sums.
DEVICE void add(BackwardArguments& a, const Block& block, int first_key, char* shared, TileC (&sums)[1][kKeyTiles]) {
  Problem& p = a.problem;
  const int thread = thread_id(), lane = thread % kWave, wave_row = thread / kWave * kTile;
  const int head_k = block.head / p.group;
  const Keys keys = keys_of(p, block, block.first_row, kRows);
  if (first_key >= keys.end || first_key + kKeys <= keys.begin) return;
  char* const after_rows = shared + 2 * StagedQueries::kBytes;
  const StagedQueries q = staged_queries<StagedQueries>(a.q, p.head_dim, block, shared, thread);
  const StagedQueries dout =
      staged_queries<StagedQueries>(a.dout, p.head_dim_v, block, shared + StagedQueries::kBytes, thread);
  const StagedKeys k = staged_keys<StagedKeys>(a.k, p.head_dim, block, head_k, keys, after_rows, thread);
  const StagedKeys v =
      staged_keys<StagedKeys>(a.v, p.head_dim_v, block, head_k, keys, after_rows + StagedKeys::kBytes, thread);
  q.load(block.first_row);
  dout.load(block.first_row);
  k.load(first_key);
  v.load(first_key);
  wait_for_copies();
  barrier();
  TileC s[1][kKeyTiles], ds[1][kKeyTiles];
  multiply_rows<T>(wave_row, q, k, s);
  multiply_rows<T>(wave_row, dout, v, ds);
  float delta[2];
  row_products(dout, wave_row, words_of_out<T, kHeadDim>(a, block, block.first_row + wave_row), delta);
  const rapt_abi_row_statistics* const statistics = statistics_of(a, block.batch, block.q, block.head);
  for_rows<1>([&](int m, int half) {
    const int row = block.first_row + wave_row + row_in_wave(m, half, lane);
    if (row >= block.q.count) return;
    const rapt_abi_row_statistics own = {unmarked(a, block.batch, block.head, block.q, row, statistics[row].lse),
                                         delta[half]};
    const TileLogits<kKeyTiles> logits{s[m], half, lane}, gradients{ds[m], half, lane};
    score_gradients<true, Of::logits>(
        p, block, first_key, true, true, [&] { return query_of(p, block, row); }, own, logits, gradients);
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) sums[m][n][2 * half + i] += ds[m][n][2 * half + i];
  });
  barrier();  // everything has been read
}

DEVICE void backward_dbias(BackwardArguments& a, char* shared) {
  const BiasTile tile = bias_tile_of<kKeys>(a);
  if (a.dbias.sizes[3] == 1 && tile.column > 0) return;
  TileC sums[1][kKeyTiles] = {};
  for_tiles_of<kRows, kKeys>(a, tile,
                             [&](const Block& block, int first_key) { add(a, block, first_key, shared, sums); });

  const int thread = thread_id(), lane = thread % kWave, wave_row = thread / kWave * kTile;
  float* const staged = reinterpret_cast<float*>(shared);
  for_rows<1>([&](int m, int half) {
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        staged[(wave_row + row_in_wave(m, half, lane)) * kKeys + n * 8 + lane % 4 * 2 + i] = sums[m][n][2 * half + i];
  });
  barrier();
  store_bias_tile<kRows, kKeys, kThreads>(a, tile, staged);
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  extern __shared__ __align__(16) char shared[];
  rapt::nvidia::backward_dbias(arguments, shared);
}
