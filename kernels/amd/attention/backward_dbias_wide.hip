// Like backward_dbias.hip, for rows that do not fit in one wave's registers: RAPT_HEAD_SLICES waves share the rows,
// each with a slice of the head dimension of q and dO. The products of the slices are summed through LDS; the wave of
// the first slice stores the sums.
#include "kernels/amd/tile/head_slices.hpp"
#include "kernels/amd/tile/logits.hpp"
#include "kernels/amd/tile/wave_part.hpp"
#include "kernels/common/bias_gradient.hpp"
#include "kernels/common/huge.hpp"
#include "kernels/common/score_gradients.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kSlices = RAPT_HEAD_SLICES;
inline constexpr int kRows = kWaves / kSlices * kTile, kSlice = kHeadDim / kSlices;
inline constexpr int kSteps = kSlice / M::step, kKeyTiles = kKeys / kTile;
using Sums = SliceSums<2 * kKeyTiles, kSlices, kWaves>;  // of S and dP
inline constexpr int kTileBytes = kRows * kKeys * sizeof(float);
inline constexpr int kLdsBytes = Sums::bytes > kTileBytes ? Sums::bytes : kTileBytes;

// Adds the gradients of the tile's logits to the lane's sums. The lane owns one query.
DEVICE void add(BackwardArguments& arguments, const Block& block, int first_key, char* lds, Tile (&sums)[kKeyTiles]) {
  BackwardArguments& a = opaque_copy(arguments);
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);
  if (first_key >= keys.end || first_key + kKeys <= keys.begin) return;
  const int thread = opaque_thread_id();
  const auto part = WavePart<kSlices, kSlice>::of(thread);
  const int lane = part.lane, slice = part.slice, row = block.first_row + part.first_row + lane % kTile;
  const int head_k = block.head / a.problem.group;
  const auto q_rows = slice_rows<T>(a.q, block.batch, block.q, block.head, slice, a.problem.head_dim);
  const auto dout_rows = slice_rows<T>(a.dout, block.batch, block.q, block.head, slice, a.problem.head_dim_v);
  const rapt_abi_row_statistics* const statistics = statistics_of(a, block.batch, block.q, block.head);
  M::Kept q[kSteps] = {}, dout[kSteps] = {};
  rapt_abi_row_statistics of_row = {__builtin_inff(), 0};
  if (row < block.q.count) {
    q_rows.load(row, M::kept_offset(lane), q);
    dout_rows.load(row, M::kept_offset(lane), dout);
    of_row = {unmarked(a, block.batch, block.head, block.q, row, statistics[row].lse), statistics[row].delta};
  }
  const float own_q = raise_own<T>(q), own_dout = raise_own<T>(dout);
  Tile s[kKeyTiles] = {}, ds[kKeyTiles] = {};
  const auto k = slice_rows<T>(a.k, block.batch, block.k, head_k, slice, a.problem.head_dim);
  const auto v = slice_rows<T>(a.v, block.batch, block.k, head_k, slice, a.problem.head_dim_v);
  const int end = min(first_key + kKeys, block.k.count);
  const auto [raised_k, raised_v] =
      raised_pair<T>(false, {k.data, k.seq, k.dims}, {v.data, v.seq, v.dims}, first_key, end, lane);
  k.multiply(first_key, lane, q, s, raised_k);
  v.multiply(first_key, lane, dout, ds, raised_v);
  lower<T>(s, own_q * raised_k.undo());
  lower<T>(ds, own_dout * raised_v.undo());
  const Sums products = {lds, uniform(thread / kWave), lane};
  products.store(s);
  products.store(ds, kKeyTiles);
  barrier();
  products.load(s);
  products.load(ds, kKeyTiles);
  barrier();  // everything has been read
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) {
    BackwardArguments& again = opaque_copy(a);
    score_gradients<true, Of::logits>(
        again.problem, block, first_key + t * kTile, true, true, [&] { return query_of(again.problem, block, row); },
        of_row, TileLogits<M>{s[t], lane / kTile}, TileLogits<M>{ds[t], lane / kTile});
    sums[t] += ds[t];
  }
}

DEVICE void backward_dbias(BackwardArguments& a, char* lds) {
  const BiasTile tile = bias_tile_of<kKeys>(a);
  if (a.dbias.sizes[3] == 1 && tile.column > 0) return;
  Tile sums[kKeyTiles] = {};
  for_tiles_of<kRows, kKeys>(a, tile, [&](const Block& block, int first_key) { add(a, block, first_key, lds, sums); });

  const auto part = WavePart<kSlices, kSlice>::of(opaque_thread_id());
  float* const staged = reinterpret_cast<float*>(lds);
  if (part.slice == 0) store_tiles<M, kKeys>(staged, part.first_row, part.lane, sums);
  barrier();
  store_bias_tile<kRows, kKeys, kWaves * kWave>(a, tile, staged);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[kLdsBytes];
  backward_dbias(opaque_copy(arguments<BackwardArguments>()), lds);
}
