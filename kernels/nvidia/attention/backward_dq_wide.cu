// Like backward_dq.cu, for rows that do not fit in one wave's registers: all waves share 16 rows, each with a slice of
// the head dimension of q, dO and dq. The products of the slices are summed through shared memory, and each wave
// computes the same gradients of the logits.
#include "kernels/common/score_gradients.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"
#include "kernels/nvidia/tile/row_product.hpp"
#include "kernels/nvidia/tile/slices.hpp"
#include "kernels/nvidia/tile/staged_tensors.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kSlice = kHeadDim / kWaves, kRows = kTile, kKeyTiles = kKeys / 8, kDimTiles = kSlice / 8;
inline constexpr bool kGeneral = RAPT_GENERAL;
static_assert(RAPT_HEAD_SLICES == kWaves);
using StagedQueries = StagedRows<T, kHeadDim, kRows, kThreads>;
using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
using Part = WavePart<kWaves, kSlice>;
inline constexpr bool kInTurn = kKeys == 8;              // shared memory has room for the sums of one tile
using Sums = SliceSums<2 * kKeyTiles, kWaves, kInTurn>;  // of S and dP
static_assert(RAPT_SHARED_BYTES == 2 * StagedQueries::kBytes + 2 * StagedKeys::kBytes + kWaves * Sums::kWaveBytes,
              "shared= of the row");
static_assert(kWaves * kTile * Part::Gathered<T>::kStride <= RAPT_SHARED_BYTES);

using Statistics = rapt_abi_row_statistics[1][2];
using Tiles = TileC[1][kKeyTiles];

// Makes the statistics of the lane's rows. `dout` is staged.
DEVICE void make_statistics(BackwardArguments& a, const Block& block, const Part& part, const StagedQueries& dout,
                            const Sums& sums, Statistics& statistics) {
  const char* const lse_of_head =
      reinterpret_cast<const char*>(a.lse.data) + block.batch * a.lse.batch + block.head * a.lse.head;
  float lse[2];
  for_rows<1>([&](int m, int half) {
    const int row = block.first_row + row_in_wave(m, half, part.lane);
    lse[half] = -__builtin_inff();
    if (row < block.q.count)
      lse[half] = *reinterpret_cast<const float*>(lse_of_head + (block.q.first + row) * a.lse.query);
  });
  float delta[2];
  row_products(dout.from(0, part.dim), 0, words_of_out<T, kSlice>(a, block, block.first_row, part.dim), delta);
  TileC products[1][1] = {{{delta[0], delta[1]}}};
  sums.put(products);
  barrier();
  sums.get(products);
  for_rows<1>([&](int m, int half) {
    const int row = block.first_row + row_in_wave(m, half, part.lane);
    const rapt_abi_row_statistics own = {lse[half] == -__builtin_inff() ? __builtin_inff() : lse[half],
                                         products[0][0][half]};
    statistics[m][half] = own;
    if (row < block.q.count && part.first_slice() && part.lane % 4 == 0)
      statistics_of(a, block.batch, block.q, block.head)[row] = {marked(own.lse), own.delta};
  });
}

// From S and dP of keys from `first` on to the rounded gradients of the logits.
DEVICE void round_gradients(Problem& p, const Block& block, const WaveRows& rows, const Part& part, const int& first,
                            int run, const Statistics& statistics, Tiles& s, Tiles& dp,
                            Rounded<T, 1, kKeyTiles>& rounded) {
  const bool masked = run != kFirstRun || first < rows.keys.full_begin || first + kKeys > rows.keys.full_end;
  scale_gradients<T>(run, dp);
  for_rows<1>([&](int m, int half) {
    const TileLogits<kKeyTiles> logits{s[m], half, part.lane}, gradients{dp[m], half, part.lane};
    score_gradients<kGeneral>(
        p, block, first, masked, run != kFirstRun,
        [&] { return rows.query(p, block, row_in_wave(m, half, part.lane)); }, statistics[m][half], logits, gradients);
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) rounded[m][n][half] = T::pack(gradients.get(2 * n), gradients.get(2 * n + 1));
  });
}

// Stores the wave's slice of dq. Returns true if it must be computed again.
DEVICE bool store(BackwardArguments& a, const Block& block, const Part& part, char* const& shared, const int& thread,
                  int run, const Statistics& statistics, const TileC (&dq)[1][kDimTiles]) {
  Problem& p = a.problem;
  char* const to = part.at<T>(first_row_of(a.dq, block.batch, block.q, block.head) + block.first_row * a.dq.seq);
  const int rows_left = block.q.count - block.first_row, dims = part.dims(p.head_dim);
  const auto gathered = part.gathered<T>(shared, thread);
  bool again = false;
  for_rows<1>([&](int m, int half) {
    const int row = row_in_wave(m, half, part.lane);
    again |= not_finite(dq[m], half) && statistics[m][half].lse == statistics[m][half].lse;
    if (run < kScaledRun) stage<T>(gathered.at(row), dq[m], half, part.lane, p.scale);
    else if (row < rows_left)
      replace_not_finite<T>(to + row * a.dq.seq, dims, dq[m], half, part.lane, p.scale / gradient_scale<T>(run));
  });
  if (run < kScaledRun) store_rows<kTile>(gathered, 0, to, a.dq.seq, rows_left, dims);
  return again;
}

// Returns true if it must run again (runs.hpp).
DEVICE bool backward_dq(BackwardArguments& a, char* shared, int run) {
  Problem& p = a.problem;
  const Block block = block_of(p, a.tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = thread_id(), head_k = block.head / p.group;
  const Part part = Part::of(thread);
  const WaveRows rows = {block.first_row, keys_of(p, block, block.first_row, kRows)};
  const Keys& keys = rows.keys;
  char* const after_rows = shared + 2 * StagedQueries::kBytes;
  const StagedQueries q = staged_queries<StagedQueries>(a.q, p.head_dim, block, shared, thread);
  const StagedQueries dout =
      staged_queries<StagedQueries>(a.dout, p.head_dim_v, block, shared + StagedQueries::kBytes, thread);
  const StagedKeys k = staged_keys<StagedKeys>(a.k, p.head_dim, block, head_k, keys, after_rows, thread);
  const StagedKeys v =
      staged_keys<StagedKeys>(a.v, p.head_dim_v, block, head_k, keys, after_rows + StagedKeys::kBytes, thread);
  const Sums sums = {after_rows + 2 * StagedKeys::kBytes, part.wave, part.lane};
  const int begin = keys.begin / kKeys * kKeys;
  dout.load(block.first_row);
  if (a.dq.data != nullptr) {
    q.load(block.first_row);
    if (begin < keys.end) {
      k.load(begin);
      v.load(begin);
    }
  }
  wait_for_copies();
  barrier();
  Statistics statistics;
  make_statistics(a, block, part, dout, sums, statistics);
  if (a.dq.data == nullptr) return false;
  for_rows<1>([&](int m, int half) { statistics[m][half] = statistics_in<T>(run, statistics[m][half]); });

  TileC dq[1][kDimTiles] = {};
#pragma unroll 1
  for (int first = begin; first < keys.end; first += kKeys) {
    wait_for_copies();
    barrier();  // and the last sums have been read
    Tiles s, dp;
    multiply_slices<T, kSlice>(part.dim < p.head_dim, q.from(0, part.dim), k.from(0, part.dim), s);
    multiply_slices<T, kSlice>(part.dim < p.head_dim_v, dout.from(0, part.dim), v.from(0, part.dim), dp);
    sums.put(s, dp);
    barrier();  // V has been read, and the sums are there
    if (first + kKeys < keys.end) v.load(first + kKeys);
    if (run != kFirstRun) remove_not_finite(k);
    sums.get(s, dp);
    Rounded<T, 1, kKeyTiles> rounded;
    round_gradients(p, block, rows, part, first, run, statistics, s, dp, rounded);
    add_product<T>(rounded, k.from(0, part.dim), dq);
    barrier();  // K has been read
    if (first + kKeys < keys.end) k.load(first + kKeys);
  }

  barrier();  // everything has been read
  return any_thread(store(a, block, part, shared, thread, run, statistics, dq));
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  extern __shared__ __align__(16) char shared[];
  rapt::nvidia::run_until_finite<rapt::nvidia::T, rapt::nvidia::backward_dq>(arguments, shared);
}
