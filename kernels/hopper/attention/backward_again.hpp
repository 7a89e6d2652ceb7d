// Computes gradients once more where one is Inf or NaN that may come from a pair that does not attend (runs.hpp). It
// uses mma.sync and reads global memory: that takes long, but needs no shared memory.
#pragma once

#include "kernels/common/infinite_rows.hpp"
#include "kernels/common/score_gradients.hpp"
#include "kernels/hopper/attention/row_statistics.hpp"
#include "kernels/hopper/tile/rows_in_memory.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"
#include "kernels/nvidia/tile/products.hpp"
#include "kernels/nvidia/tile/result.hpp"

namespace rapt::nvidia {

inline constexpr int kAgainColumns = 16;
using AgainTiles = TileC[1][kAgainColumns / 8];

// What a row's statistics are in a run, in natural units: score_gradients() expects them.
template <class T>
DEVICE rapt_abi_row_statistics statistics_in(int run, BackwardArguments& a, const Block& b, int row,
                                             const rapt_abi_row_statistics& own) {
  const float lse = unmarked(a, b.batch, b.head, b.q, row, natural_lse(a, own.lse));
  return {lse, own.delta * gradient_scale<T>(run)};
}

// The tensors of a head of q.
template <class T>
struct HeadInMemory {
  RowsInMemory<T> q, dout, k, v;
  const rapt_abi_row_statistics* statistics;
  const Block& block;  // its head is the head of q

  DEVICE HeadInMemory of(BackwardArguments& a, const Block& block) {
    Problem& p = a.problem;
    const int head = block.head;
    const auto rows = [&](const rapt_abi_rows& tensor, const Span& span, int own, int dims) {
      return RowsInMemory<T>::of(tensor, block.batch, span, own, dims);
    };
    const int head_k = head / p.group;
    return {rows(a.q, block.q, head, p.head_dim),         rows(a.dout, block.q, head, p.head_dim_v),
            rows(a.k, block.k, head_k, p.head_dim),       rows(a.v, block.k, head_k, p.head_dim_v),
            statistics_of(a, block.batch, block.q, head), block};
  }
  DEVICE_MEMBER rapt_abi_row_statistics of_row(int run, BackwardArguments& a, int row) const {
    return row < q.rows ? statistics_in<T>(run, a, block, row, statistics[row]) : rapt_abi_row_statistics{};
  }
};

template <class T, int Columns>
DEVICE Fragment rounded_operand(const TileC (&x)[1][Columns]) {
  Rounded<T, 1, Columns> rounded;
#pragma unroll
  for (int n = 0; n < Columns; ++n)
    for_rows<1>([&](int m, int half) { rounded[m][n][half] = T::pack(x[m][n][2 * half], x[m][n][2 * half + 1]); });
  return operand_of<T, 1, Columns>(rounded, 0, 0);
}

template <class T>
DEVICE void add_rows(AgainTiles& sums, const Fragment& a, const RowsInMemory<T>& rows, int row, int dim, int lane,
                     int run) {
#pragma unroll
  for (int n = 0; n < kAgainColumns / 8; ++n)
    rows.multiply_by(sums[0][n], a, row, dim + n * 8, lane, [&](float x) { return replaced<false>(pass_of(run), x); });
}

// Replaces elements of 16 rows of a result. Returns whether a sum is not finite.
template <class T>
DEVICE bool replace_rows(const rapt_abi_rows& tensor, int batch, const Span& span, int head, int first_row, int dim,
                         int dims, const AgainTiles& sums, float factor, int lane) {
  char* const rows = first_row_of(tensor, batch, span, head) + dim * static_cast<int>(sizeof(typename T::element));
  bool again = false;
  for_rows<1>([&](int m, int half) {
    const int row = first_row + row_in_wave(m, half, lane);
    again |= not_finite(sums[m], half);
    if (row < span.count) replace_not_finite<T>(rows + row * tensor.seq, dims - dim, sums[m], half, lane, factor);
  });
  return any_lane(again);
}

// kAgainColumns columns of dq of a warp's 16 rows. Returns whether one is not finite.
template <class T, bool General>
DEVICE bool run_rows(BackwardArguments& a, const Block& block, int run, int first_row, int dim, int lane) {
  Problem& p = a.problem;
  const auto head = HeadInMemory<T>::of(a, block);
  const Keys keys = keys_of(p, block, first_row, kTile);
  AgainTiles dq = {};
#pragma unroll 1
  for (int key = keys.begin / kTile * kTile; key < keys.end; key += kTile) {
    TileC s[1][2] = {}, dp[1][2] = {};
    add_products_of_rows(s, head.q, first_row, head.k, key, lane);
    add_products_of_rows(dp, head.dout, first_row, head.v, key, lane);
    scale_gradients<T>(run, dp);
    for_rows<1>([&](int m, int half) {
      const int row = first_row + row_in_wave(m, half, lane);
      score_gradients<General>(
          p, block, key, true, true, [&] { return query_of(p, block, row); }, head.of_row(run, a, row),
          TileLogits<2>{s[m], half, lane}, TileLogits<2>{dp[m], half, lane});
    });
    add_rows(dq, rounded_operand<T>(dp), head.k, key, dim, lane, run);
  }
  return replace_rows<T>(a.dq, block.batch, block.q, block.head, first_row, dim, p.head_dim, dq,
                         p.scale / gradient_scale<T>(run), lane);
}

// The same of dk and dv of a warp's 16 keys; later runs are about dk alone. The block's head is one of k.
template <class T, bool General>
DEVICE bool run_keys(BackwardArguments& a, const Block& block, int run, int first_key, int dim, int lane) {
  Problem& p = a.problem;
  const Queries rows = queries_of(p, block, first_key, kTile);
  AgainTiles dk = {}, dv = {};
#pragma unroll 1
  for (int g = 0; g < p.group; ++g) {
    Block of_query = block;
    of_query.head = block.head * p.group + g;
    const auto head = HeadInMemory<T>::of(a, of_query);
#pragma unroll 1
    for (int row = rows.begin / kTile * kTile; row < rows.end; row += kTile) {
      TileC s[1][2] = {}, dp[1][2] = {};
      add_products_of_rows(s, head.k, first_key, head.q, row, lane);
      add_products_of_rows(dp, head.v, first_key, head.dout, row, lane);
      scale_gradients<T>(run, dp);
#pragma unroll
      for (int n = 0; n < 2; ++n)
#pragma unroll
        for (int column = 0; column < 2; ++column) {
          const int query = row + n * 8 + lane % 4 * 2 + column;
          score_gradients<General>(
              p, of_query, first_key, true, true, [&] { return query_of(p, of_query, query); },
              head.of_row(run, a, query), ColumnLogits<1, 2>{s, n, column, lane},
              ColumnLogits<1, 2>{dp, n, column, lane});
        }
      add_rows(dv, rounded_operand<T>(s), head.dout, row, dim, lane, run);
      add_rows(dk, rounded_operand<T>(dp), head.q, row, dim, lane, run);
    }
  }
  if (run == kFiniteRun && a.dv.data != nullptr)
    replace_rows<T>(a.dv, block.batch, block.k, block.head, first_key, dim, p.head_dim_v, dv, 1, lane);
  return a.dk.data != nullptr && replace_rows<T>(a.dk, block.batch, block.k, block.head, first_key, dim, p.head_dim, dk,
                                                 p.scale / gradient_scale<T>(run), lane);
}

// Runs until a warp's results are finite. `Run` is run_rows or run_keys.
template <class T, auto Run>
DEVICE void run_again(BackwardArguments& a, const Block& block, int first_row, int lane) {
  bool again = true;
#pragma unroll 1
  for (int run = kFiniteRun; again && run < kRuns<T>; ++run) {
    again = false;
#pragma unroll 1
    for (int dim = 0; dim < max(a.problem.head_dim, a.problem.head_dim_v); dim += kAgainColumns)
      again |= Run(a, block, run, first_row, dim, lane);
  }
}

// Looks at all of dk and dv, in tiles of 16 keys a warp, which the launch's workgroups share.
template <class T, int Waves>
DEVICE void run_keys_again(BackwardArguments& a) {
  Problem& p = a.problem;
  constexpr int kTileKeys = Waves * kTile;
  const int tiles = (p.seqlen_k + kTileKeys - 1) / kTileKeys, lane = thread_id() % kWave;
#pragma unroll 1
  for (int64_t i = workgroup_id(); i < int64_t{tiles} * p.heads_k * p.batch; i += gridDim.x) {
    const int head = static_cast<int>(i / tiles), tile = static_cast<int>(i % tiles);
    const Block block = block_at(p, {tile, head % p.heads_k, head / p.heads_k}, tile * kTileKeys);
    const int first_key = block.first_row + thread_id() / kWave * kTile;
    const auto finite = [&](const rapt_abi_rows& rows, int dims) {
      return rows.data == nullptr ||
             RowsInMemory<T>::of(rows, block.batch, block.k, block.head, dims).finite(first_key, lane);
    };
    const bool again = !finite(a.dk, p.head_dim) || !finite(a.dv, p.head_dim_v);
    if (again) run_again<T, run_keys<T, true>>(a, block, first_key, lane);
    if (any_thread(again)) add_infinite_rows<T, true, kTileKeys, Waves>(a, block);
  }
}

}  // namespace rapt::nvidia
