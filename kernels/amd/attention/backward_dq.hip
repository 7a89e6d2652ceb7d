// dq, and of each row what the other kernels of the pass need, its lse and delta. S^T = K Q^T, dP^T = V dO^T,
// dQ^T = K^T dS^T: a lane owns one query, as in forward.hip, and dS^T has the layout of the third product's operand.
//
// A workgroup of RAPT_WAVES waves computes RAPT_WAVES * kTile rows of one head, in tiles of RAPT_BLOCK_K keys.
//
// An Inf or NaN in K reaches the lse of each row that attends the key. In other rows it meets only zeros of dS: if such
// a row's result is not finite, the workgroup runs again (runs.hpp).
#include "kernels/amd/tile/logits.hpp"
#include "kernels/amd/tile/products.hpp"
#include "kernels/amd/tile/row_statistics.hpp"
#include "kernels/amd/tile/lds_rows.hpp"
#include "kernels/amd/tile/lds_columns.hpp"
#include "kernels/amd/tile/wave_part.hpp"
#include "kernels/common/score_gradients.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kRows = kWaves * kTile;
inline constexpr int kSteps = kHeadDim / M::step, kKeyTiles = kKeys / kTile, kDimTiles = kHeadDim / kTile;
inline constexpr bool kGeneral = RAPT_GENERAL;
using Own = OwnStep<T, kHeadDim, kGeneral>;
using Staged = StagedRows<T, kHeadDim, kKeys, kWaves>;        // K and V
using Transposed = StagedValues<T, kHeadDim, kKeys, kWaves>;  // K again
inline constexpr int kLdsBytes = 2 * Staged::bytes + Transposed::bytes;

// The lane's rows of q and dO. Addresses are made outside of branches that depend on the lane: what the compiler makes
// in both arms of one is in vector registers afterwards.
DEVICE void load_own(BackwardArguments& a, const Block& block, int row, int lane, Own (&q)[kSteps],
                     Own (&dout)[kSteps]) {
  const char* const q_rows = first_row_of(a.q, block.batch, block.q, block.head);
  const char* const dout_rows = first_row_of(a.dout, block.batch, block.q, block.head);
  if (row >= block.q.count) return;
  load_fragments<T>(q_rows + row * a.q.seq, a.problem.head_dim, aligned(q_rows, a.q.seq), own_offset<M, Own>(lane), q);
  load_fragments<T>(dout_rows + row * a.dout.seq, a.problem.head_dim_v, aligned(dout_rows, a.dout.seq),
                    own_offset<M, Own>(lane), dout);
}

// S and dP of the lane's query and a tile of keys.
DEVICE void multiply(const Staged& k, const Staged& v, const Own (&q)[kSteps], const Own (&dout)[kSteps], int lane,
                     Tile (&s)[kKeyTiles], Tile (&dp)[kKeyTiles]) {
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) s[t] = dp[t] = Tile{};
#pragma unroll
  for (int c = 0; c < kSteps; ++c) {
    add_step<M>(k, q, c, lane, s);
    add_step<M>(v, dout, c, lane, dp);
  }
}

DEVICE void store(BackwardArguments& a, const Block& block, int row, int lane, int run, float factor,
                  const Tile (&dq)[kDimTiles]) {
  char* const rows = first_row_of(a.dq, block.batch, block.q, block.head);
  if (row < block.q.count)
    store_run<T>(run, rows + row * a.dq.seq, a.problem.head_dim, aligned(rows, a.dq.seq), lane,
                 a.problem.scale * factor, dq);
}

// Returns whether it must run again (runs.hpp).
DEVICE bool backward_dq(BackwardArguments& a, char* lds, int run) {
  const Block block = block_of(a.problem, a.tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = opaque_thread_id();
  const auto part = WavePart<1, kHeadDim>::of(thread);
  const int lane = part.lane, first_row = block.first_row + part.first_row, row = first_row + lane % kTile;
  const WaveRows rows = {first_row, keys_of(a.problem, block, first_row, kTile)};
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);  // of the workgroup

  Own q[kSteps] = {}, dout[kSteps] = {};
  load_own(a, block, row, lane, q, dout);
  const float own_q = raise_own<T>(q), own_dout = raise_own<T>(dout);
  rapt_abi_row_statistics statistics = make_statistics<T>(a, block, first_row, lane, dout, own_dout);
  if (a.dq.data == nullptr) return false;
  statistics.lse = lse_in<T>(run, statistics.lse);

  const int head_k = block.head / a.problem.group;
  const char* const k_rows = first_row_of(a.k, block.batch, block.k, head_k);
  const char* const v_rows = first_row_of(a.v, block.batch, block.k, head_k);
  const auto [raised_k, raised_v] = raised_keys<T>(a, block, run == kFirstRun, keys, lane);
  Staged k(k_rows, a.k.seq, a.problem.head_dim, keys, lds, thread, raised_k);
  Staged v(v_rows, a.v.seq, a.problem.head_dim_v, keys, lds + Staged::bytes, thread, raised_v);
  Transposed kt(k_rows, a.k.seq, a.problem.head_dim, keys, lds + 2 * Staged::bytes, thread, pass_of(run), raised_k);
  const auto load = [&](int first) {
    k.load(first);
    v.load(first);
    kt.load(first);
  };
  OperandScale<T> scale;
  Tile dq[kDimTiles] = {};
  const int begin = keys.begin / kKeys * kKeys;
  if (begin < keys.end) load(begin);
  for (int first = begin; first < keys.end; first += kKeys) {
    barrier();
    k.store(first);
    v.store(first);
    kt.store(first);
    barrier();
    const bool attends = rows.attends(first, kKeys);
    Tile s[kKeyTiles], ds[kKeyTiles];
    if (attends) multiply(k, v, q, dout, lane, s, ds);
    lower<T>(s, own_q * raised_k.undo());
    lower<T>(ds, own_dout * raised_v.undo());
    if (first + kKeys < keys.end) load(first + kKeys);
    if (!attends) continue;
    BackwardArguments& again = opaque_copy(a);
    const bool masked = run != kFirstRun || first < rows.keys.full_begin || first + kKeys > rows.keys.full_end;
#pragma unroll
    for (int t = 0; t < kKeyTiles; ++t)
      score_gradients<kGeneral>(
          again.problem, block, first + t * kTile, masked, run != kFirstRun,
          [&] { return rows.query(again.problem, block, opaque_thread_id() % kTile); }, statistics,
          TileLogits<M>{s[t], lane / kTile}, TileLogits<M>{ds[t], lane / kTile});
    scale.apply(ds, dq);
    accumulate_in_order<T>(ds, opaque_thread_id() % kWave, kt, 0, dq);  // addresses of LDS are made after the branches
  }

  store(a, block, row, lane, run, scale.undo() * raised_k.undo(), dq);
  return vote<kWaves>(not_finite(dq) && statistics.lse == statistics.lse, lds);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[kLdsBytes];
  run_until_finite<T, backward_dq>(lds);
}
