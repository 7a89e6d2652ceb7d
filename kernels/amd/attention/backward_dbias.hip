// dbias: the gradients of the logits are computed again, as in backward_dq, so that each element has one workgroup,
// which sums in a fixed order.
//
// A workgroup of RAPT_WAVES waves has RAPT_WAVES * kTile rows and RAPT_BLOCK_K columns of dbias of one batch and head.
#include "kernels/amd/tile/products.hpp"
#include "kernels/amd/tile/logits.hpp"
#include "kernels/amd/tile/lds_rows.hpp"
#include "kernels/amd/tile/wave_part.hpp"
#include "kernels/common/bias_gradient.hpp"
#include "kernels/common/huge.hpp"
#include "kernels/common/score_gradients.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kRows = kWaves * kTile;
inline constexpr int kSteps = kHeadDim / M::step, kKeyTiles = kKeys / kTile;
using Staged = StagedRows<T, kHeadDim, kKeys, kWaves>;
inline constexpr int kSumBytes = kRows * kKeys * sizeof(float);
inline constexpr int kLdsBytes = 2 * Staged::bytes > kSumBytes ? 2 * Staged::bytes : kSumBytes;

// Adds the gradients of the tile's logits to the lane's sums. The lane owns one query.
DEVICE void add(BackwardArguments& arguments, const Block& block, int first_key, char* lds, Tile (&sums)[kKeyTiles]) {
  BackwardArguments& a = opaque_copy(arguments);
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);
  if (first_key >= keys.end || first_key + kKeys <= keys.begin) return;
  const int thread = opaque_thread_id();
  const auto part = WavePart<1, kHeadDim>::of(thread);
  const int lane = part.lane, row = block.first_row + part.first_row + lane % kTile;
  // The wave's own rows first: the addresses of K and V would take scalar registers meanwhile.
  const char* const q_rows = first_row_of(a.q, block.batch, block.q, block.head);
  const char* const dout_rows = first_row_of(a.dout, block.batch, block.q, block.head);
  const rapt_abi_row_statistics* const statistics = statistics_of(a, block.batch, block.q, block.head);
  M::Kept q[kSteps] = {}, dout[kSteps] = {};
  rapt_abi_row_statistics of_row = {__builtin_inff(), 0};
  if (row < block.q.count) {
    load_fragments<T>(q_rows + row * a.q.seq, a.problem.head_dim, aligned(q_rows, a.q.seq), M::kept_offset(lane), q);
    load_fragments<T>(dout_rows + row * a.dout.seq, a.problem.head_dim_v, aligned(dout_rows, a.dout.seq),
                      M::kept_offset(lane), dout);
    of_row = {unmarked(a, block.batch, block.head, block.q, row, statistics[row].lse), statistics[row].delta};
  }
  const float own_q = raise_own<T>(q), own_dout = raise_own<T>(dout);
  const int head_k = block.head / a.problem.group;
  const char* const k_rows = first_row_of(a.k, block.batch, block.k, head_k);
  const char* const v_rows = first_row_of(a.v, block.batch, block.k, head_k);
  const int begin = max(first_key, keys.begin), end = min(first_key + kKeys, keys.end);
  const auto [raised_k, raised_v] = raised_pair<T>(false, {k_rows, a.k.seq, a.problem.head_dim},
                                                   {v_rows, a.v.seq, a.problem.head_dim_v}, begin, end, lane);
  Staged k(k_rows, a.k.seq, a.problem.head_dim, keys, lds, thread, raised_k);
  Staged v(v_rows, a.v.seq, a.problem.head_dim_v, keys, lds + Staged::bytes, thread, raised_v);
  k.load(first_key);
  v.load(first_key);
  k.store(first_key);
  v.store(first_key);
  barrier();
  Tile s[kKeyTiles] = {}, ds[kKeyTiles] = {};
#pragma unroll
  for (int c = 0; c < kSteps; ++c) {
    add_step<M>(k, q, c, lane, s);
    add_step<M>(v, dout, c, lane, ds);
  }
  lower<T>(s, own_q * raised_k.undo());
  lower<T>(ds, own_dout * raised_v.undo());
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) {
    BackwardArguments& again = opaque_copy(a);
    score_gradients<true, Of::logits>(
        again.problem, block, first_key + t * kTile, true, true, [&] { return query_of(again.problem, block, row); },
        of_row, TileLogits<M>{s[t], lane / kTile}, TileLogits<M>{ds[t], lane / kTile});
    sums[t] += ds[t];
  }
  barrier();  // everything has been read
}

DEVICE void backward_dbias(BackwardArguments& a, char* lds) {
  const BiasTile tile = bias_tile_of<kKeys>(a);
  if (a.dbias.sizes[3] == 1 && tile.column > 0) return;
  Tile sums[kKeyTiles] = {};
  for_tiles_of<kRows, kKeys>(a, tile, [&](const Block& block, int first_key) { add(a, block, first_key, lds, sums); });

  const auto part = WavePart<1, kHeadDim>::of(opaque_thread_id());
  float* const staged = reinterpret_cast<float*>(lds);
  store_tiles<M, kKeys>(staged, part.first_row, part.lane, sums);
  barrier();
  store_bias_tile<kRows, kKeys, kWaves * kWave>(a, tile, staged);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[kLdsBytes];
  backward_dbias(opaque_copy(arguments<BackwardArguments>()), lds);
}
