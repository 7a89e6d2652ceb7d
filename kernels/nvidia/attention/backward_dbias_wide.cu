// Like backward_dbias.cu, for rows that do not fit in shared memory and registers as whole tiles. All waves share 16
// rows and columns of dbias, and each multiplies a slice of the head dimension.
#include "kernels/common/bias_gradient.hpp"
#include "kernels/common/huge.hpp"
#include "kernels/common/score_gradients.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/row_product.hpp"
#include "kernels/nvidia/tile/slices.hpp"
#include "kernels/nvidia/tile/staged_tensors.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kSlice = kHeadDim / kWaves, kRows = kTile, kKeyTiles = kKeys / 8;
static_assert(RAPT_HEAD_SLICES == kWaves);
using StagedQueries = StagedRows<T, kHeadDim, kRows, kThreads>;
using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
using Part = WavePart<kWaves, kSlice>;
inline constexpr bool kInTurn = kKeys == 8;              // shared memory has room for the sums of one tile
using Sums = SliceSums<2 * kKeyTiles, kWaves, kInTurn>;  // of S and dP
static_assert(RAPT_SHARED_BYTES == 2 * StagedQueries::kBytes + 2 * StagedKeys::kBytes + kWaves * Sums::kWaveBytes,
              "shared= of the row");

// Adds the gradients of the tile's logits to the lane's sums.
DEVICE void add(BackwardArguments& a, const Block& block, int first_key, char* shared, TileC (&sums)[1][kKeyTiles]) {
  Problem& p = a.problem;
  const int thread = thread_id(), head_k = block.head / p.group;
  const Part part = Part::of(thread);
  const Keys keys = keys_of(p, block, block.first_row, kRows);
  if (first_key >= keys.end || first_key + kKeys <= keys.begin) return;
  char* const after_rows = shared + 2 * StagedQueries::kBytes;
  const StagedQueries q = staged_queries<StagedQueries>(a.q, p.head_dim, block, shared, thread);
  const StagedQueries dout =
      staged_queries<StagedQueries>(a.dout, p.head_dim_v, block, shared + StagedQueries::kBytes, thread);
  const StagedKeys k = staged_keys<StagedKeys>(a.k, p.head_dim, block, head_k, keys, after_rows, thread);
  const StagedKeys v =
      staged_keys<StagedKeys>(a.v, p.head_dim_v, block, head_k, keys, after_rows + StagedKeys::kBytes, thread);
  const Sums of_waves = {after_rows + 2 * StagedKeys::kBytes, part.wave, part.lane};
  q.load(block.first_row);
  dout.load(block.first_row);
  k.load(first_key);
  v.load(first_key);
  wait_for_copies();
  barrier();
  float of_slice[2];
  row_products(dout.from(0, part.dim), 0, words_of_out<T, kSlice>(a, block, block.first_row, part.dim), of_slice);
  TileC delta[1][1] = {{{of_slice[0], of_slice[1]}}};
  of_waves.put(delta);
  barrier();
  of_waves.get(delta);
  barrier();  // the sums have been read
  TileC s[1][kKeyTiles], ds[1][kKeyTiles];
  multiply_slices<T, kSlice>(part.dim < p.head_dim, q.from(0, part.dim), k.from(0, part.dim), s);
  multiply_slices<T, kSlice>(part.dim < p.head_dim_v, dout.from(0, part.dim), v.from(0, part.dim), ds);
  of_waves.put(s, ds);
  barrier();
  of_waves.get(s, ds);
  const rapt_abi_row_statistics* const statistics = statistics_of(a, block.batch, block.q, block.head);
  for_rows<1>([&](int m, int half) {
    const int row = block.first_row + row_in_wave(m, half, part.lane);
    if (row >= block.q.count) return;
    const rapt_abi_row_statistics own = {unmarked(a, block.batch, block.head, block.q, row, statistics[row].lse),
                                         delta[0][0][half]};
    const TileLogits<kKeyTiles> logits{s[m], half, part.lane}, gradients{ds[m], half, part.lane};
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

  const Part part = Part::of(thread_id());
  float* const staged = reinterpret_cast<float*>(shared);
  if (part.first_slice())
    for_rows<1>([&](int m, int half) {
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          staged[row_in_wave(m, half, part.lane) * kKeys + n * 8 + part.lane % 4 * 2 + i] = sums[m][n][2 * half + i];
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
