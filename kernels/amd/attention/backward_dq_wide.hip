// Like backward_dq.hip, for rows that do not fit in one wave's registers: RAPT_HEAD_SLICES waves share the rows, each
// with a slice of the head dimension of q, dO and dq. The products of the slices are summed through LDS, and each wave
// computes the same gradients of the logits.
#include "kernels/amd/tile/logits.hpp"
#include "kernels/amd/tile/products.hpp"
#include "kernels/amd/tile/row_statistics.hpp"
#include "kernels/amd/tile/head_slices.hpp"
#include "kernels/amd/tile/lds_columns.hpp"
#include "kernels/amd/tile/wave_part.hpp"
#include "kernels/common/score_gradients.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kSlices = RAPT_HEAD_SLICES;
inline constexpr int kRows = kWaves / kSlices * kTile, kSlice = kHeadDim / kSlices;
inline constexpr int kSteps = kSlice / M::step, kKeyTiles = kKeys / kTile, kDimTiles = kSlice / kTile;
inline constexpr bool kGeneral = RAPT_GENERAL;
using Sums = SliceSums<2 * kKeyTiles, kSlices, kWaves>;       // of S and dP
using Transposed = StagedValues<T, kHeadDim, kKeys, kWaves>;  // K, in the place of the sums
inline constexpr int kLdsBytes = Sums::bytes > Transposed::bytes ? Sums::bytes : Transposed::bytes;

// The statistics of the lane's row. All waves of a workgroup must call it.
DEVICE rapt_abi_row_statistics make_statistics(BackwardArguments& a, const Block& block, int first_row, int slice,
                                               const Sums& sums, const M::Kept (&dout)[kSteps], float own) {
  const SliceRows<T> out = slice_rows<T>(a.out, block.batch, block.q, block.head, slice, a.problem.head_dim_v);
  Tile products[] = {
      row_products<T>(out.at(0), out.seq, out.dims - slice, first_row, block.q.count, sums.lane, dout, own)};
  barrier();  // where the workgroup runs again, its votes have been read
  sums.store(products);
  barrier();
  sums.load(products);
  return statistics_from<T>(a, block, first_row, sums.lane, slice == 0, products[0]);
}

// The wave's slice of the lane's rows of q and dO.
DEVICE void load_own(BackwardArguments& a, const Block& block, int row, int lane, int slice, M::Kept (&q)[kSteps],
                     M::Kept (&dout)[kSteps]) {
  const SliceRows<T> q_rows = slice_rows<T>(a.q, block.batch, block.q, block.head, slice, a.problem.head_dim);
  const SliceRows<T> dout_rows = slice_rows<T>(a.dout, block.batch, block.q, block.head, slice, a.problem.head_dim_v);
  if (row >= block.q.count) return;
  q_rows.load(row, M::kept_offset(lane), q);
  dout_rows.load(row, M::kept_offset(lane), dout);
}

// Adds up the slices' S and dP through LDS, where K takes their place.
DEVICE void add_slices(const Sums& sums, Transposed& kt, int first, bool attends, Tile (&s)[kKeyTiles],
                       Tile (&dp)[kKeyTiles]) {
  barrier();  // the tile before has been read
  if (attends) {
    sums.store(s);
    sums.store(dp, kKeyTiles);
  }
  kt.load(first);
  barrier();
  if (attends) {
    sums.load(s);
    sums.load(dp, kKeyTiles);
  }
  barrier();
  kt.store(first);
  barrier();
}

// Returns whether it must run again (runs.hpp).
DEVICE bool backward_dq(BackwardArguments& a, char* lds, int run) {
  const Block block = block_of(a.problem, a.tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = opaque_thread_id();
  const auto part = WavePart<kSlices, kSlice>::of(thread);
  const int lane = part.lane, slice = part.slice, first_row = block.first_row + part.first_row;
  const int row = first_row + lane % kTile;
  const WaveRows rows = {first_row, keys_of(a.problem, block, first_row, kTile)};
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);  // of the workgroup

  M::Kept q[kSteps] = {}, dout[kSteps] = {};
  load_own(a, block, row, lane, slice, q, dout);
  const Sums sums = {lds, uniform(thread / kWave), lane};
  const float own_q = raise_own<T>(q), own_dout = raise_own<T>(dout);
  rapt_abi_row_statistics statistics = make_statistics(a, block, first_row, slice, sums, dout, own_dout);
  if (a.dq.data == nullptr) return false;
  statistics.lse = lse_in<T>(run, statistics.lse);

  const int head_k = block.head / a.problem.group;
  const SliceRows<T> k = slice_rows<T>(a.k, block.batch, block.k, head_k, slice, a.problem.head_dim);
  const SliceRows<T> v = slice_rows<T>(a.v, block.batch, block.k, head_k, slice, a.problem.head_dim_v);
  const auto [raised_k, raised_v] =
      raised_pair<T>(run == kFirstRun, {k.data, k.seq, k.dims}, {v.data, v.seq, v.dims}, keys.begin, keys.end, lane);
  Transposed kt(k.data, a.k.seq, a.problem.head_dim, keys, lds, thread, pass_of(run), raised_k);
  OperandScale<T> scale;
  Tile dq[kDimTiles] = {};
  const int begin = keys.begin / kKeys * kKeys;
  for (int first = begin; first < keys.end; first += kKeys) {
    const bool attends = rows.attends(first, kKeys);
    Tile s[kKeyTiles], ds[kKeyTiles];
    if (attends) {
#pragma unroll
      for (int t = 0; t < kKeyTiles; ++t) s[t] = ds[t] = Tile{};
      k.multiply(first, lane, q, s, raised_k);
      v.multiply(first, lane, dout, ds, raised_v);
      lower<T>(s, own_q * raised_k.undo());
      lower<T>(ds, own_dout * raised_v.undo());
    }
    add_slices(sums, kt, first, attends, s, ds);
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
    accumulate_in_order<T>(ds, lane, kt, slice, dq);
  }

  const SliceRows<T> result = slice_rows<T>(a.dq, block.batch, block.q, block.head, slice, a.problem.head_dim);
  if (row < block.q.count) result.store(run, row, lane, a.problem.scale * (scale.undo() * raised_k.undo()), dq);
  return vote<kWaves>(not_finite(dq) && statistics.lse == statistics.lse, lds);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[kLdsBytes];
  run_until_finite<T, backward_dq>(lds);
}
