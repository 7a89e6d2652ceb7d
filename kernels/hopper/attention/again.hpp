// Computes rows once more if their result has an Inf or NaN that may come from a key they do not attend
// (not_finite.hpp). It uses mma.sync and reads global memory: that takes long, but needs no shared memory. It runs when
// the pipeline has ended, because it would take registers from the pipeline.
#pragma once

#include "kernels/common/sink.hpp"
#include "kernels/hopper/arguments.h"
#include "kernels/hopper/attention/cached_keys.hpp"
#include "kernels/hopper/attention/turns.hpp"
#include "kernels/hopper/tile/fragments.hpp"
#include "kernels/hopper/tile/rows_in_memory.hpp"
#include "kernels/nvidia/attention/attend.hpp"

namespace rapt::nvidia {

// A sequence's rows of k or v, of which 16 are read: from key `key` on, a multiple of 16.
template <class T, bool Natural>
DEVICE RowsInMemory<T> keys_in_memory(const rapt_hopper_forward_scores_args& arguments, const Block& block,
                                      const rapt_abi_rows& rows, int dims, int key) {
  Problem& p = arguments.all.forward.problem;
  Cache& cache = arguments.cache;
  const int head = block.head / p.group;
  if (Natural || !has_cache(cache)) return RowsInMemory<T>::of(rows, block.batch, block.k, head, dims);
  if (cache.block_table == nullptr)
    return RowsInMemory<T>::of(rows, cache_row(cache, block.batch), block.k, head, dims);
  const Page page = page_of(cache, p, block.batch, key);
  return RowsInMemory<T>::of(rows, page.page, Span{-page.first_row, block.k.count}, head, dims);
}

// If `Natural`, scores have options and natural units.
//
// O of `Dims` of v's columns of a warp's rows, in one of the later passes. Finite results stay.
template <class T, int Dims, bool Natural>
DEVICE void run_pass(const rapt_hopper_forward_scores_args& arguments, const Block& block, int pass, int first_row,
                     int first_dim, int lane) {
  constexpr int kStepKeys = 16, kDimTiles = Dims / 8;
  const rapt_forward_args& a = arguments.all.forward;
  const auto q = RowsInMemory<T>::of(a.q, block.batch, block.q, block.head, a.problem.head_dim);
  const Keys keys = keys_of(a.problem, block, first_row, kWarpRows);
  TileC o[1][kDimTiles] = {};
  Softmax<T, Natural> softmax[1][2] = {};
  softmax[0][1] = Softmax<T, Natural>();  // which nvcc 13.5 leaves out
#pragma unroll 1
  for (int key = keys.begin / kStepKeys * kStepKeys; key < keys.end; key += kStepKeys) {
    const auto k = keys_in_memory<T, Natural>(arguments, block, a.k, a.problem.head_dim, key);
    const auto v = keys_in_memory<T, Natural>(arguments, block, a.v, a.problem.head_dim_v, key);
    TileC s[1][2] = {};
    add_products_of_rows(s, q, first_row, k, key, lane);
    Rounded<T, 1, 2> p;
    const auto row_of = [&](int row) { return ResultRow{block, query_of(a.problem, block, first_row + row)}; };
    probabilities<T, Natural, 2>(a.problem, pass, true, row_of, key, lane, s, softmax, o, p);
    const Fragment weights = operand_of<T, 1, 2>(p, 0, 0);
    const auto counted = [&](float x) { return replaced<Natural>(pass, x); };
#pragma unroll
    for (int n = 0; n < kDimTiles; ++n) v.multiply_by(o[0][n], weights, key, first_dim + n * 8, lane, counted);
  }
  char* const out =
      first_row_of(a.out, block.batch, block.q, block.head) + first_dim * static_cast<int>(sizeof(typename T::element));
  for_rows<1>([&](int m, int half) {
    const int row = first_row + row_in_wave(m, half, lane);
    Softmax<T, Natural>& own = softmax[m][half];
    const bool replaces_lse = !Natural && pass == kFinite && first_dim == 0 && lane % 4 == 0 && huge(own.reference);
    const Sink sink = Sink::of<Natural>(a.problem, block);
    const float factor = own.finish(sink.logit) * (Natural ? a.problem.keep_scale : 1);
    if (row >= block.q.count) return;
    if (replaces_lse) store_lse(a, block, row, sink.lse(own.lse()));
    const int dims = a.problem.head_dim_v - first_dim;
    if (pass >= kAbove) add_where_weighted<T>(out + row * a.out.seq, dims, added<Natural>(pass), o[m], half, lane);
    else replace_not_finite<T>(out + row * a.out.seq, dims, o[m], half, lane, factor);
  });
}

// Looks at the rows that this warp has stored, of all tiles of `turns`. They begin at row `first_row` of each tile of
// `Rows` rows. `Dims` of v's columns are computed at a time.
template <class T, int Rows, int Dims, bool Natural, class Turns>
DEVICE void run_again(const rapt_hopper_forward_scores_args& arguments, int first_row, Turns turns) {
  const rapt_forward_args& a = arguments.all.forward;
  const int lane = thread_id() % kWave;
  wave_barrier();  // the lanes have stored their parts of the rows
#pragma unroll 1
  for (Block block = turns.next_block(a.problem, Rows); block.head >= 0; block = turns.next_block(a.problem, Rows)) {
    const int row = block.first_row + first_row;
    if (RowsInMemory<T>::of(a.out, block.batch, block.q, block.head, a.problem.head_dim_v).finite(row, lane)) continue;
    if (!Natural && has_cache(arguments.cache)) block = with_cached_keys(arguments.cache, a.problem, block);
#pragma unroll 1
    for (int dim = 0; dim < a.problem.head_dim_v; dim += Dims)
#pragma unroll 1
      for (int pass = kFinite; pass < passes<Natural>(a.problem); ++pass)
        run_pass<T, Dims, Natural>(arguments, block, pass, row, dim, lane);
  }
}

}  // namespace rapt::nvidia
