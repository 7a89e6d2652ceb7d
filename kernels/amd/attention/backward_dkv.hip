// dk and dv. A lane owns one key: the columns of S = Q K^T and dP = dO V^T are keys. So P and dS have the layout that
// dV^T = dO^T P and dK^T = Q^T dS take as an operand.
//
// A workgroup of RAPT_WAVES waves computes kWaves * kTile rows of a head of k, in steps of RAPT_BLOCK_K queries of
// each head of q that shares it, one after another. With RAPT_HEAD_SLICES 2, where registers do not hold both
// gradients, the first half of the waves computes dv, the other half dk of the same keys.
//
// An Inf or NaN in Q reaches the lse of its row, and so all keys that the row attends. For other keys it meets only
// zeros of dS: if dk or dv is not finite, the workgroup runs again (runs.hpp).
#include "kernels/amd/tile/products.hpp"
#include "kernels/amd/tile/row_statistics.hpp"
#include "kernels/amd/tile/key_logits.hpp"
#include "kernels/amd/tile/lds_rows.hpp"
#include "kernels/amd/tile/lds_columns.hpp"
#include "kernels/common/infinite_rows.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K;
inline constexpr bool kBoth = RAPT_HEAD_SLICES == 1;
inline constexpr int kWaves = RAPT_WAVES / RAPT_HEAD_SLICES, kKeys = kWaves * kTile;  // waves with keys of their own
inline constexpr int kSteps = kHeadDim / M::step, kQueryTiles = kQueries / kTile, kDimTiles = kHeadDim / kTile;
inline constexpr bool kGeneral = RAPT_GENERAL;
using Own = OwnStep<T, kHeadDim, kGeneral>;
using Staged = StagedRows<T, kHeadDim, kQueries, RAPT_WAVES>;        // Q and dO
using Transposed = StagedValues<T, kHeadDim, kQueries, RAPT_WAVES>;  // again
inline constexpr int kStatisticsBytes = kQueries * sizeof(rapt_abi_row_statistics);
inline constexpr int kLdsBytes = 2 * Staged::bytes + 2 * Transposed::bytes + kStatisticsBytes;

struct Scales {
  OperandScale<T> dk, dv;
  Raised<T> q, dout;
  float of_s, of_dp;  // lower products with the lane's key
};

// How far Q and dO are raised. What it reads and computes is not kept: scalar registers are few.
DEVICE Scales scales_of(BackwardArguments& a, int run) {
  Scales scales;
  if constexpr (kRaises<T>) {
    const Block block = key_block_of(a.problem, a.tiles, kKeys);
    const Queries rows = queries_of(a.problem, block, block.first_row, kKeys);
    const int lane = opaque_thread_id() % kWave, group = a.problem.group, head = block.head * group;
    const OperandRows q = {first_row_of(a.q, block.batch, block.q, head), a.q.seq, a.problem.head_dim, a.q.head};
    const OperandRows dout = {first_row_of(a.dout, block.batch, block.q, head), a.dout.seq, a.problem.head_dim_v,
                              a.dout.head};
    const auto raised = raised_pair<T>(run == kFirstRun, q, dout, rows.begin, rows.end, lane, group);
    scales.q = raised.a.in_vectors(), scales.dout = raised.b.in_vectors();
  }
  return scales;
}

// S and dP of the lane's key and a step's queries. Waves that compute dV alone need no dP.
DEVICE void multiply(const Staged& q, const Staged& dout, const Own (&k)[kSteps], const Own (&v)[kSteps], bool attends,
                     bool wants_dk, int lane, Tile (&s)[kQueryTiles], Tile (&dp)[kQueryTiles]) {
#pragma unroll
  for (int t = 0; t < kQueryTiles; ++t) s[t] = dp[t] = Tile{};
  if (attends) {
#pragma unroll
    for (int c = 0; c < kSteps; ++c) {
      add_step<M>(q, k, c, lane, s);
      if (kBoth) add_step<M>(dout, v, c, lane, dp);
    }
  }
  if (!kBoth && wants_dk && attends) {
#pragma unroll
    for (int c = 0; c < kSteps; ++c) add_step<M>(dout, v, c, lane, dp);
  }
}

// Adds what the queries of one head contribute. `block.head` is a head of q.
DEVICE void add_head(BackwardArguments& a, const Block& block, const Queries& rows, const Queries& own, int first_key,
                     bool wants_dk, int run, char* lds, const Own (&k)[kSteps], const Own (&v)[kSteps], Scales& scales,
                     Tile (&dk)[kDimTiles], Tile (&dv)[kDimTiles]) {
  const int thread = opaque_thread_id(), lane = thread % kWave;
  const Keys range = {rows.begin, rows.end, rows.full_begin, rows.full_end};
  const char* const q_rows = first_row_of(a.q, block.batch, block.q, block.head);
  const char* const dout_rows = first_row_of(a.dout, block.batch, block.q, block.head);
  Staged q(q_rows, a.q.seq, a.problem.head_dim, range, lds, thread, scales.q);
  Staged dout(dout_rows, a.dout.seq, a.problem.head_dim_v, range, lds + Staged::bytes, thread, scales.dout);
  char* const transposed = lds + 2 * Staged::bytes;
  Transposed qt(q_rows, a.q.seq, a.problem.head_dim, range, transposed, thread, pass_of(run), scales.q);
  Transposed dout_t(dout_rows, a.dout.seq, a.problem.head_dim_v, range, transposed + Transposed::bytes, thread,
                    pass_of(run), scales.dout);
  auto* const statistics = reinterpret_cast<rapt_abi_row_statistics*>(transposed + 2 * Transposed::bytes);
  const auto load = [&](int first) {
    q.load(first);
    dout.load(first);
    qt.load(first);
    dout_t.load(first);
  };
  const int begin = rows.begin / kQueries * kQueries;
  if (begin < rows.end) load(begin);
  for (int first = begin; first < rows.end; first += kQueries) {
    barrier();
    q.store(first);
    dout.store(first);
    qt.store(first);
    dout_t.store(first);
    stage_statistics<T, kQueries>(a, block, first, run, statistics);
    barrier();
    const bool attends = first < own.end && first + kQueries > own.begin;
    Tile s[kQueryTiles], ds[kQueryTiles];
    multiply(q, dout, k, v, attends, wants_dk, lane, s, ds);
    lower<T>(s, scales.of_s);
    lower<T>(ds, scales.of_dp);
    if (first + kQueries < rows.end) load(first + kQueries);
    if (!attends) continue;
    const bool masked = run != kFirstRun || first < own.full_begin || first + kQueries > own.full_end;
    key_score_gradients<kGeneral, M>(a, block, first_key, first, lane, masked, run != kFirstRun, statistics, s, ds);
    if constexpr (kBoth) {
      scales.dv.apply(s, dv);
      accumulate_in_order<T>(s, lane, dout_t, 0, dv);
      scales.dk.apply(ds, dk);
      accumulate_in_order<T>(ds, lane, qt, 0, dk);
    } else {  // not in two branches, whose results would need registers of their own
#pragma unroll
      for (int t = 0; t < kQueryTiles; ++t) s[t] = wants_dk ? ds[t] : s[t];
      const Transposed values(q_rows, 0, 0, range, transposed + (wants_dk ? 0 : Transposed::bytes), thread, kAll,
                              wants_dk ? scales.q : scales.dout);
      accumulate_in_order<T>(s, lane, values, 0, dk);
    }
  }
}

// Returns whether it must run again.
DEVICE bool backward_dkv(BackwardArguments& a, char* lds, int run) {
  Scales scales = scales_of(opaque_copy(a), run);
  const Block block = key_block_of(a.problem, a.tiles, kKeys);
  if (block.first_row >= block.k.count) return false;
  const int thread = opaque_thread_id(), lane = thread % kWave, wave = uniform(thread / kWave);
  const int first_key = block.first_row + wave % kWaves * kTile, key = first_key + lane % kTile;
  const bool wants_dv = kBoth || wave < kWaves, wants_dk = kBoth || !wants_dv;
  const Queries rows = queries_of(a.problem, block, block.first_row, kKeys);  // of the workgroup
  const Queries own = queries_of(a.problem, block, first_key, kTile);

  Own k[kSteps] = {}, v[kSteps] = {};
  const char* const k_rows = first_row_of(a.k, block.batch, block.k, block.head);
  const char* const v_rows = first_row_of(a.v, block.batch, block.k, block.head);
  if (key < block.k.count) {
    load_fragments<T>(k_rows + key * a.k.seq, a.problem.head_dim, aligned(k_rows, a.k.seq), own_offset<M, Own>(lane),
                      k);
    load_fragments<T>(v_rows + key * a.v.seq, a.problem.head_dim_v, aligned(v_rows, a.v.seq), own_offset<M, Own>(lane),
                      v);
  }
  scales.of_s = raise_own<T>(k) * scales.q.undo(), scales.of_dp = raise_own<T>(v) * scales.dout.undo();
  Tile dv[kDimTiles] = {}, of_dk[kDimTiles] = {};
  Tile(&dk)[kDimTiles] = kBoth ? of_dk : dv;
#pragma nounroll
  for (int g = 0; g < a.problem.group; ++g) {
    Block of_head = block;
    of_head.head = block.head * a.problem.group + g;
    // What follows from a copy of `run` is computed again for each head: scalar registers are few.
    add_head(a, of_head, rows, own, first_key, wants_dk, opaque_uniform(run), lds, k, v, scales, dk, dv);
  }

  char* const dk_rows = first_row_of(a.dk, block.batch, block.k, block.head);
  char* const dv_rows = first_row_of(a.dv, block.batch, block.k, block.head);
  if (wants_dk && key < block.k.count && a.dk.data != nullptr)
    store_run<T>(run, dk_rows + key * a.dk.seq, a.problem.head_dim, aligned(dk_rows, a.dk.seq), lane,
                 a.problem.scale * (scales.dk.undo() * scales.q.undo()), dk);
  if (wants_dv && key < block.k.count && a.dv.data != nullptr && !is_scaled<T>(run))
    store_result<T>(dv_rows + key * a.dv.seq, a.problem.head_dim_v, aligned(dv_rows, a.dv.seq), lane,
                    scales.dv.undo() * scales.dout.undo(), dv);
  return vote<RAPT_WAVES>(not_finite(dk) || not_finite(dv), lds);
}

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[kLdsBytes];
  if (!run_until_finite<T, backward_dkv>(lds)) return;
  BackwardArguments& a = opaque_copy(arguments<BackwardArguments>());
  add_infinite_rows<T, kGeneral, kKeys, RAPT_WAVES>(a, key_block_of(a.problem, a.tiles, kKeys));
}
