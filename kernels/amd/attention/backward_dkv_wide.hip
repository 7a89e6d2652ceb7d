// Like backward_dkv.hip, for rows that do not fit in one wave's registers: RAPT_HEAD_SLICES waves share the keys, each
// with a slice of the head dimension of k, v, dk and dv. The products of the slices are summed through LDS, and each
// wave computes the same P and dS.
#include "kernels/amd/tile/products.hpp"
#include "kernels/amd/tile/row_statistics.hpp"
#include "kernels/amd/tile/key_logits.hpp"
#include "kernels/amd/tile/head_slices.hpp"
#include "kernels/amd/tile/lds_columns.hpp"
#include "kernels/amd/tile/wave_part.hpp"
#include "kernels/common/infinite_rows.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K, kWaves = RAPT_WAVES;
inline constexpr int kSlices = RAPT_HEAD_SLICES, kKeys = kWaves / kSlices * kTile, kSlice = kHeadDim / kSlices;
inline constexpr int kSteps = kSlice / M::step, kQueryTiles = kQueries / kTile, kDimTiles = kSlice / kTile;
inline constexpr bool kGeneral = RAPT_GENERAL;
using Sums = SliceSums<2 * kQueryTiles, kSlices, kWaves>;        // of S and dP
using Transposed = StagedValues<T, kHeadDim, kQueries, kWaves>;  // dO, then Q, in the place of the sums
inline constexpr int kExchangeBytes = Sums::bytes > Transposed::bytes ? Sums::bytes : Transposed::bytes;
inline constexpr int kLdsBytes = kExchangeBytes + kQueries * sizeof(rapt_abi_row_statistics);

// What a wave keeps of its keys and adds up.
struct WaveKeys {
  M::Kept k[kSteps] = {}, v[kSteps] = {};
  Tile dk[kDimTiles] = {}, dv[kDimTiles] = {};
  OperandScale<T> dk_scale, dv_scale;
  RaisedPair<T> of_rows;  // Q and dO
  float own_k, own_v;     // lower products with the lane's key
};

// Adds what the queries of one head contribute. `block.head` is a head of q. Addresses are made again in each step: all
// of them together need more scalar registers than there are.
DEVICE void add_head(BackwardArguments& arguments, const Block& block, const Queries& rows, const Queries& own,
                     int first_key, int slice, int run, char* lds, WaveKeys& keys) {
  const int thread = opaque_thread_id(), lane = thread % kWave;
  const Keys range = {rows.begin, rows.end, rows.full_begin, rows.full_end};
  auto* const statistics = reinterpret_cast<rapt_abi_row_statistics*>(lds + kExchangeBytes);
  const Sums sums = {lds, uniform(thread / kWave), lane};
  for (int first = rows.begin / kQueries * kQueries; first < rows.end; first += kQueries) {
    BackwardArguments& a = opaque_copy(arguments);
    const bool attends = first < own.end && first + kQueries > own.begin;
    Tile s[kQueryTiles], ds[kQueryTiles];
#pragma unroll
    for (int t = 0; t < kQueryTiles; ++t) s[t] = ds[t] = Tile{};
    if (attends) {
      slice_rows<T>(a.q, block.batch, block.q, block.head, slice, a.problem.head_dim)
          .multiply(first, lane, keys.k, s, keys.of_rows.a);
      slice_rows<T>(a.dout, block.batch, block.q, block.head, slice, a.problem.head_dim_v)
          .multiply(first, lane, keys.v, ds, keys.of_rows.b);
      lower<T>(s, keys.own_k * keys.of_rows.a.undo());
      lower<T>(ds, keys.own_v * keys.of_rows.b.undo());
    }
    barrier();  // the step before has been read
    if (attends) {
      sums.store(s);
      sums.store(ds, kQueryTiles);
    }
    stage_statistics<T, kQueries>(a, block, first, opaque_uniform(run), statistics);
    Transposed dout(first_row_of(a.dout, block.batch, block.q, block.head), a.dout.seq, a.problem.head_dim_v, range,
                    lds, thread, pass_of(opaque_uniform(run)), keys.of_rows.b);
    dout.load(first);
    barrier();
    if (attends) {
      sums.load(s);
      sums.load(ds, kQueryTiles);
    }
    barrier();
    dout.store(first);
    Transposed q(first_row_of(a.q, block.batch, block.q, block.head), a.q.seq, a.problem.head_dim, range, lds, thread,
                 pass_of(opaque_uniform(run)), keys.of_rows.a);
    q.load(first);
    barrier();
    if (attends) {
      const bool masked = run != kFirstRun || first < own.full_begin || first + kQueries > own.full_end;
      key_score_gradients<kGeneral, M>(a, block, first_key, first, lane, masked, opaque_uniform(run) != kFirstRun,
                                       statistics, s, ds);
      keys.dv_scale.apply(s, keys.dv);
      accumulate_in_order<T>(s, lane, dout, slice, keys.dv);
    }
    barrier();
    q.store(first);
    barrier();
    if (!attends) continue;
    keys.dk_scale.apply(ds, keys.dk);
    accumulate_in_order<T>(ds, lane, q, slice, keys.dk);
  }
}

// Returns whether it must run again (runs.hpp).
DEVICE bool backward_dkv(BackwardArguments& a, char* lds, int run) {
  const Block block = key_block_of(a.problem, a.tiles, kKeys);
  if (block.first_row >= block.k.count) return false;
  const auto part = WavePart<kSlices, kSlice>::of(opaque_thread_id());
  const int lane = part.lane, slice = part.slice, first_key = block.first_row + part.first_row;
  const int key = first_key + lane % kTile;
  const Queries rows = queries_of(a.problem, block, block.first_row, kKeys);  // of the workgroup
  const Queries own = queries_of(a.problem, block, first_key, kTile);

  WaveKeys keys;
  const SliceRows<T> k = slice_rows<T>(a.k, block.batch, block.k, block.head, slice, a.problem.head_dim);
  const SliceRows<T> v = slice_rows<T>(a.v, block.batch, block.k, block.head, slice, a.problem.head_dim_v);
  if (key < block.k.count) {
    k.load(key, M::kept_offset(lane), keys.k);
    v.load(key, M::kept_offset(lane), keys.v);
  }
  const char* const q_rows = first_row_of(a.q, block.batch, block.q, block.head * a.problem.group);
  const char* const dout_rows = first_row_of(a.dout, block.batch, block.q, block.head * a.problem.group);
  keys.own_k = raise_own<T>(keys.k), keys.own_v = raise_own<T>(keys.v);
  keys.of_rows = raised_pair<T>(run == kFirstRun, {q_rows, a.q.seq, a.problem.head_dim, a.q.head},
                                {dout_rows, a.dout.seq, a.problem.head_dim_v, a.dout.head}, rows.begin, rows.end, lane,
                                a.problem.group);
#pragma nounroll
  for (int g = 0; g < a.problem.group; ++g) {
    Block of_head = block;
    of_head.head = block.head * a.problem.group + g;
    add_head(a, of_head, rows, own, first_key, slice, run, lds, keys);
  }

  const SliceRows<T> dk = slice_rows<T>(a.dk, block.batch, block.k, block.head, slice, a.problem.head_dim);
  const SliceRows<T> dv = slice_rows<T>(a.dv, block.batch, block.k, block.head, slice, a.problem.head_dim_v);
  if (key < block.k.count && a.dk.data != nullptr)
    dk.store(run, key, lane, a.problem.scale * (keys.dk_scale.undo() * keys.of_rows.a.undo()), keys.dk);
  if (key < block.k.count && a.dv.data != nullptr && !is_scaled<T>(run))
    dv.store(run, key, lane, keys.dv_scale.undo() * keys.of_rows.b.undo(), keys.dv);
  return vote<kWaves>(not_finite(keys.dk) || not_finite(keys.dv), lds);
}

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[kLdsBytes];
  if (!run_until_finite<T, backward_dkv>(lds)) return;
  BackwardArguments& a = opaque_copy(arguments<BackwardArguments>());
  add_infinite_rows<T, kGeneral, kKeys, kWaves>(a, key_block_of(a.problem, a.tiles, kKeys));
}
