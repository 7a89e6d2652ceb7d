// dq, and each row's lse and delta, which the other kernels of the pass need. S = Q K^T, dP = dO V^T, dQ = dS K: the
// rounded gradients of the logits are an operand of the third product.
//
// A workgroup of RAPT_WAVES waves computes RAPT_WAVES * RAPT_QUERY_TILES * 16 rows of one head, in tiles of
// RAPT_BLOCK_K keys; the next tile is copied meanwhile.
//
// An Inf or NaN in K reaches the lse of each row that attends the key. In other rows it meets only zeros of dS: if such
// a row's result is not finite, the workgroup runs again (runs.hpp).
#include "kernels/common/score_gradients.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"
#include "kernels/nvidia/tile/products.hpp"
#include "kernels/nvidia/tile/result.hpp"
#include "kernels/nvidia/tile/row_product.hpp"
#include "kernels/nvidia/tile/staged_tensors.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kQueryTiles = RAPT_QUERY_TILES, kWaveRows = kQueryTiles * kTile, kRows = kWaves * kWaveRows;
inline constexpr int kKeyTiles = kKeys / 8, kDimTiles = kHeadDim / 8;
inline constexpr bool kGeneral = RAPT_GENERAL;
using StagedQueries = StagedRows<T, kHeadDim, kRows, kThreads>;
using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
static_assert(RAPT_SHARED_BYTES == 2 * StagedQueries::kBytes + 4 * StagedKeys::kBytes, "shared= of the row");

using Statistics = rapt_abi_row_statistics[kQueryTiles][2];
using Tiles = TileC[kQueryTiles][kKeyTiles];

// The addresses from which the statistics of the lane's rows are made.
struct Rows {
  RowWords<T, kHeadDim> out[kQueryTiles];
  float lse[kQueryTiles][2];

  DEVICE_MEMBER void load(BackwardArguments& a, const Block& block, int wave_row) {
    const int lane = thread_id() % kWave;
    const char* const lse_of_head =
        reinterpret_cast<const char*>(a.lse.data) + block.batch * a.lse.batch + block.head * a.lse.head;
#pragma unroll
    for (int m = 0; m < kQueryTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = block.first_row + wave_row + row_in_wave(m, half, lane);
        lse[m][half] = -__builtin_inff();
        if (row < block.q.count)
          lse[m][half] = *reinterpret_cast<const float*>(lse_of_head + (block.q.first + row) * a.lse.query);
      }
      out[m] = words_of_out<T, kHeadDim>(a, block, block.first_row + wave_row + m * kTile);
    }
  }
};

// Makes the statistics of the lane's rows. `dout` is staged.
DEVICE void make_statistics(BackwardArguments& a, const Block& block, int wave_row, const StagedQueries& dout,
                            const Rows& rows, Statistics& statistics) {
  const int lane = thread_id() % kWave;
#pragma unroll
  for (int m = 0; m < kQueryTiles; ++m) {
    float delta[2];
    row_products(dout, wave_row + m * kTile, rows.out[m], delta);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = block.first_row + wave_row + row_in_wave(m, half, lane);
      const float lse = rows.lse[m][half] == -__builtin_inff() ? __builtin_inff() : rows.lse[m][half];
      statistics[m][half] = {lse, delta[half]};
      if (row < block.q.count && lane % 4 == 0)
        statistics_of(a, block.batch, block.q, block.head)[row] = {marked(lse), delta[half]};
    }
  }
}

// S = Q K^T and dP = dO V^T, side by side if registers hold the operands of both.
DEVICE void multiply_both(const int& wave_row, const StagedQueries& q, const StagedKeys& k, Tiles& s,
                          const StagedQueries& dout, const StagedKeys& v, Tiles& dp) {
  if constexpr (kQueryTiles * kHeadDim <= 128) {
    multiply_rows<T>(wave_row, q, k, s, dout, v, dp);
  } else {
    multiply_rows<T>(wave_row, q, k, s);
    multiply_rows<T>(wave_row, dout, v, dp);
  }
}

// From S and dP of keys from `first` on to the rounded gradients of the logits.
DEVICE void round_gradients(Problem& p, const Block& block, const WaveRows& rows, int first, int run,
                            const Statistics& statistics, Tiles& s, Tiles& dp,
                            Rounded<T, kQueryTiles, kKeyTiles>& rounded) {
  const bool masked = run != kFirstRun || first < rows.keys.full_begin || first + kKeys > rows.keys.full_end;
  scale_gradients<T>(run, dp);
  const int lane = thread_id() % kWave;
  for_rows<kQueryTiles>([&](int m, int half) {
    const TileLogits<kKeyTiles> logits{s[m], half, lane}, gradients{dp[m], half, lane};
    score_gradients<kGeneral>(
        p, block, first, masked, run != kFirstRun, [&] { return rows.query(p, block, row_in_wave(m, half, lane)); },
        statistics[m][half], logits, gradients);
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) rounded[m][n][half] = T::pack(gradients.get(2 * n), gradients.get(2 * n + 1));
  });
}

// Stores the wave's rows of dq. Returns true if one of them must be computed again.
DEVICE bool store(BackwardArguments& a, const Block& block, const StagedQueries& q, const int& wave_row,
                  const int& first_row, int run, const Statistics& statistics,
                  const TileC (&dq)[kQueryTiles][kDimTiles]) {
  Problem& p = a.problem;
  const int lane = thread_id() % kWave, rows_left = block.q.count - first_row;
  char* const to = first_row_of(a.dq, block.batch, block.q, block.head) + first_row * a.dq.seq;
  bool again = false;
  for_rows<kQueryTiles>([&](int m, int half) {
    const int row = row_in_wave(m, half, lane);
    again |= not_finite(dq[m], half) && statistics[m][half].lse == statistics[m][half].lse;
    if (run < kScaledRun) stage<T>(q.at(wave_row + row), dq[m], half, lane, p.scale);
    else if (row < rows_left)
      replace_not_finite<T>(to + row * a.dq.seq, p.head_dim, dq[m], half, lane, p.scale / gradient_scale<T>(run));
  });
  if (run < kScaledRun) store_rows<kWaveRows>(q, wave_row, to, a.dq.seq, rows_left, p.head_dim);
  return again;
}

// Returns true if it must run again.
DEVICE bool backward_dq(BackwardArguments& a, char* shared, int run) {
  Problem& p = a.problem;
  const Block block = block_of(p, a.tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = thread_id(), wave_row = thread / kWave * kWaveRows;
  const int first_row = block.first_row + wave_row, head_k = block.head / p.group;
  const Keys keys = keys_of(p, block, block.first_row, kRows);  // of the workgroup
  const WaveRows rows = {first_row, keys_of(p, block, first_row, kWaveRows)};

  char* const after_rows = shared + 2 * StagedQueries::kBytes;
  const StagedQueries q = staged_queries<StagedQueries>(a.q, p.head_dim, block, shared, thread);
  const StagedQueries dout =
      staged_queries<StagedQueries>(a.dout, p.head_dim_v, block, shared + StagedQueries::kBytes, thread);
  StagedKeys next_k = staged_keys<StagedKeys>(a.k, p.head_dim, block, head_k, keys, after_rows, thread);
  StagedKeys next_v =
      staged_keys<StagedKeys>(a.v, p.head_dim_v, block, head_k, keys, after_rows + StagedKeys::kBytes, thread);
  const int begin = keys.begin / kKeys * kKeys;
  dout.load(block.first_row);
  if (a.dq.data != nullptr) {
    q.load(block.first_row);
    if (begin < keys.end) {
      next_k.load(begin);
      next_v.load(begin);
    }
  }
  Rows own;
  own.load(a, block, wave_row);
  wait_for_copies();
  barrier();
  Statistics statistics;
  make_statistics(a, block, wave_row, dout, own, statistics);
  if (a.dq.data == nullptr) return false;
  for_rows<kQueryTiles>([&](int m, int half) { statistics[m][half] = statistics_in<T>(run, statistics[m][half]); });

  TileC dq[kQueryTiles][kDimTiles] = {};
#pragma unroll 1
  for (int first = begin; first < keys.end; first += kKeys) {
    wait_for_copies();
    barrier();  // and the last tile has been read
    const StagedKeys k = next_k, v = next_v;
    const int other = (k.shared == after_rows ? 2 : -2) * StagedKeys::kBytes;
    next_k.shared += other;
    next_v.shared += other;
    if (first + kKeys < keys.end) {
      next_k.load(first + kKeys);
      next_v.load(first + kKeys);
    }
    Tiles s, dp;
    const bool attends = rows.attends(first, kKeys);
    if (attends) multiply_both(wave_row, q, k, s, dout, v, dp);
    if (run != kFirstRun) remove_not_finite(k);
    if (!attends) continue;
    Rounded<T, kQueryTiles, kKeyTiles> rounded;
    round_gradients(p, block, rows, first, run, statistics, s, dp, rounded);
    add_product<T>(rounded, k, dq);
  }
  return any_thread(store(a, block, q, wave_row, first_row, run, statistics, dq));
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  extern __shared__ __align__(16) char shared[];
  rapt::nvidia::run_until_finite<rapt::nvidia::T, rapt::nvidia::backward_dq>(arguments, shared);
}
