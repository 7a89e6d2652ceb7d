// Like backward_dkv.cu, for rows that do not fit in one wave's registers: all waves share 16 keys, each with a slice of
// the head dimension of k, v and their gradients. The products of the slices are summed through shared memory, and each
// wave computes the same P^T and dS^T.
#include "kernels/common/infinite_rows.hpp"
#include "kernels/nvidia/tile/query_steps.hpp"
#include "kernels/nvidia/tile/slices.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kSlice = kHeadDim / kWaves, kKeys = kTile, kQueryTiles = kQueries / 8, kDimTiles = kSlice / 8;
inline constexpr bool kGeneral = RAPT_GENERAL;
static_assert(RAPT_HEAD_SLICES == kWaves);
using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
using Steps = QuerySteps<T, kHeadDim, kQueries, kThreads>;
using Part = WavePart<kWaves, kSlice>;
inline constexpr bool kInTurn = kQueries == 8;             // shared memory has room for the sums of one tile
using Sums = SliceSums<2 * kQueryTiles, kWaves, kInTurn>;  // of S^T and dP^T
static_assert(RAPT_SHARED_BYTES == 2 * StagedKeys::kBytes + Steps::kBytes + kWaves * Sums::kWaveBytes,
              "shared= of the row");
static_assert(kWaves * kTile * Part::Gathered<T>::kStride <= RAPT_SHARED_BYTES);

using Tiles = TileC[1][kQueryTiles];
using Accumulators = TileC[1][kDimTiles];

// Stores the wave's slice of dk or dv, through shared memory.
DEVICE void store(const rapt_abi_rows& tensor, const Block& block, const Part& part, const Accumulators& sums,
                  float factor, int head_dim, char* shared) {
  if (tensor.data == nullptr) return;
  const auto gathered = part.gathered<T>(shared, thread_id());
  for_rows<1>([&](int m, int half) {
    stage<T>(gathered.at(row_in_wave(m, half, part.lane)), sums[m], half, part.lane, factor);
  });
  char* const rows = first_row_of(tensor, block.batch, block.k, block.head) + block.first_row * tensor.seq;
  store_rows<kTile>(gathered, 0, part.at<T>(rows), tensor.seq, block.k.count - block.first_row, part.dims(head_dim));
}

// Replaces the elements of the wave's slice of dk that a scaled run replaces.
DEVICE void replace_dk(BackwardArguments& a, const Block& block, const Part& part, const Accumulators& dk,
                       float factor) {
  if (a.dk.data == nullptr) return;
  char* const rows = part.at<T>(first_row_of(a.dk, block.batch, block.k, block.head));
  for_rows<1>([&](int m, int half) {
    const int key = block.first_row + row_in_wave(m, half, part.lane);
    if (key < block.k.count)
      replace_not_finite<T>(rows + key * a.dk.seq, part.dims(a.problem.head_dim), dk[m], half, part.lane, factor);
  });
}

// Returns true if it must run again (runs.hpp).
DEVICE bool backward_dkv(BackwardArguments& a, char* shared, int run) {
  Problem& p = a.problem;
  const Block block = key_block_of(p, a.tiles, kKeys);
  if (block.first_row >= block.k.count) return false;
  const int thread = thread_id();
  const Part part = Part::of(thread);
  const Queries rows = queries_of(p, block, block.first_row, kKeys);
  const auto staged_keys = [&](const rapt_abi_rows& tensor, int head_dim, char* at) {
    return StagedKeys(first_row_of(tensor, block.batch, block.k, block.head), tensor.seq, head_dim, 0, block.k.count,
                      at, thread);
  };
  const StagedKeys k = staged_keys(a.k, p.head_dim, shared);
  const StagedKeys v = staged_keys(a.v, p.head_dim_v, shared + StagedKeys::kBytes);
  const Steps steps = {a, block, rows, shared + 2 * StagedKeys::kBytes};
  const Sums sums = {steps.shared + Steps::kBytes, part.wave, part.lane};
  k.load(block.first_row);
  v.load(block.first_row);
  Accumulators dk = {}, dv = {};
#pragma unroll 1
  for (Step step = steps.first(); steps.has(step); step = steps.next(step)) {
    steps.load(run, step, 0, thread);
    wait_for_copies();
    barrier();  // and the last sums have been read
    const auto q = steps.q(step, 0, thread).from(0, part.dim), dout = steps.dout(step, 0, thread).from(0, part.dim);
    Tiles s, ds;
    multiply_slices<T, kSlice>(part.dim < p.head_dim, k.from(0, part.dim), q, s);
    multiply_slices<T, kSlice>(part.dim < p.head_dim_v, v.from(0, part.dim), dout, ds);
    sums.put(s, ds);
    barrier();  // the sums are there
    steps.prepare(run, step, 0, thread);
    sums.get(s, ds);
    scale_gradients<T>(run, ds);
    Block of_head = block;
    of_head.head = step.head;
    const bool masked = run != kFirstRun || step.first < rows.full_begin || step.first + kQueries > rows.full_end;
    transposed_gradients<kGeneral>(p, of_head, block.first_row, step.first, masked, run != kFirstRun,
                                   steps.statistics(0, 0), s, ds);
    Rounded<T, 1, kQueryTiles> weights, rounded;
    round_tiles<T>(s, weights);
    round_tiles<T>(ds, rounded);
    add_product<T>(weights, dout, dv);
    add_product<T>(rounded, q, dk);
    barrier();  // Q and dO have been read
  }

  wait_for_copies();
  barrier();  // everything has been read
  if (run >= kScaledRun) {
    replace_dk(a, block, part, dk, p.scale / gradient_scale<T>(run));
  } else {
    store(a.dk, block, part, dk, p.scale, p.head_dim, shared);
    store(a.dv, block, part, dv, 1, p.head_dim_v, shared);
  }
  bool again = false;
  for_rows<1>([&](int m, int half) { again |= not_finite(dk[m], half) || not_finite(dv[m], half); });
  return any_thread(again);
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  extern __shared__ __align__(16) char shared[];
  using namespace rapt::nvidia;
  if (run_until_finite<T, backward_dkv>(arguments, shared))
    add_infinite_rows<T, kGeneral, kKeys, kWaves>(arguments, key_block_of(arguments.problem, arguments.tiles, kKeys));
}
