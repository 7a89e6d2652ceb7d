// dq, dk and dv of problems whose keys all fit one tile. Scores are computed once, and dQ is complete when a step ends:
// nothing is summed in memory, and no other kernel is needed.
//
// A workgroup has all keys of a head of k, 16 for each of its RAPT_WAVES waves. Its steps are RAPT_BLOCK_K queries of
// each head of q that shares the head of k. Tiles are transposed and dK and dV stay in registers, as in
// backward_dkv.cu. dS^T of a step also goes through shared memory. Then each wave computes 16 rows of dQ = dS K, or a
// slice of them, over all keys.
//
// delta uses the instruction that makes dP (row_product.hpp). Inf and NaN: runs.hpp.
#include "kernels/common/infinite_rows.hpp"
#include "kernels/nvidia/tile/query_steps.hpp"
#include "kernels/nvidia/tile/result.hpp"
#include "kernels/nvidia/tile/row_product.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kKeys = kWaves * kTile;
inline constexpr int kStepTiles = kQueries / kTile;
inline constexpr int kSlices = kWaves / kStepTiles < kHeadDim / 16 ? kWaves / kStepTiles : kHeadDim / 16;
inline constexpr int kSliceDims = kHeadDim / kSlices;  // of dq that a wave computes
inline constexpr int kQueryTiles = kQueries / 8, kDimTiles = kHeadDim / 8;
using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
inline constexpr int kCopiers = kThreads < 8 * kQueries ? kThreads : 8 * kQueries;  // threads that copy a step
using Steps = QuerySteps<T, kHeadDim, kQueries, kCopiers>;
using StagedQueries = Steps::Staged;
using Scores = SharedRows<T, kQueries>;  // dS^T of a step
// Shared memory: K, V, scores, and the steps' rows.
inline constexpr int kValuesAt = StagedKeys::kBytes, kScoresAt = 2 * StagedKeys::kBytes,
                     kStepsAt = kScoresAt + kKeys * Scores::kStride;
static_assert(!RAPT_GENERAL && RAPT_QUERY_TILES == 1 && RAPT_HEAD_SLICES == 1 && kWaves % kStepTiles == 0);
static_assert(RAPT_SHARED_BYTES == kStepsAt + 2 * Steps::kBytes + 2 * StagedQueries::kBytes, "shared= of the row");

using Tiles = TileC[1][kQueryTiles];
using Accumulators = TileC[1][kDimTiles];

// The same block. Addresses that follow from it are computed again, because keeping them would take registers that the
// products need.
DEVICE Block anew(Block block) {
  asm volatile("" : "+r"(block.batch), "+r"(block.q.first));
  return block;
}

// The steps' rows, with rows of out. lse of their statistics is copied; make_statistics() adds delta.
struct RowSteps : Steps {
  DEVICE_MEMBER StagedQueries out(const Step& step, int buffer, int thread) const {
    return {first_row_of(a.out, block.batch, block.q, step.head),
            a.out.seq,
            a.problem.head_dim_v,
            rows.begin,
            rows.end,
            shared + 2 * Steps::kBytes + buffer * StagedQueries::kBytes,
            thread};
  }
  DEVICE_MEMBER rapt_abi_row_statistics& statistics_at(int buffer, int row) const {
    return *reinterpret_cast<rapt_abi_row_statistics*>(statistics(buffer, row));
  }
  DEVICE_MEMBER void load(const Step& step, int buffer, int thread) const {
    if (thread >= kCopiers) return;
    if (thread < kQueries) {
      const bool there = step.first + thread < block.q.count;
      const int row = there ? step.first + thread : 0;
      copy_async_4(shared_address(statistics(buffer, thread)), lse_at(a, block.batch, step.head, block.q, row), there);
    }
    q(step, buffer, thread).load(step.first);
    dout(step, buffer, thread).load(step.first);
    out(step, buffer, thread).load(step.first);
  }
  // Completes the statistics of 16 rows from `row` on.
  DEVICE_MEMBER void make_statistics(int run, const Step& step, int buffer, int row, int thread) const {
    float delta[2];
    row_products<T>(dout(step, buffer, thread), row, out(step, buffer, thread), delta);
    const int lane = thread % kWave;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      auto& own = statistics_at(buffer, row + row_in_wave(0, half, lane));
      const float lse = own.lse == -__builtin_inff() ? __builtin_inff() : own.lse;
      wave_barrier();
      if (lane % 4 == 0) own = statistics_in<T>(run, {lse, delta[half]});
    }
  }
};

// Stores the wave's rows of dk or dv, through its rows of K or V in shared memory.
DEVICE void store(const rapt_abi_rows& tensor, const Block& block, const StagedKeys& staged, int wave_key,
                  const Accumulators& sums, float factor, int dims) {
  if (tensor.data == nullptr) return;
  const int lane = thread_id() % kWave;
  for_rows<1>(
      [&](int, int half) { stage<T>(staged.at(wave_key + row_in_wave(0, half, lane)), sums[0], half, lane, factor); });
  store_rows<kTile>(staged, wave_key, first_row_of(tensor, block.batch, block.k, block.head) + wave_key * tensor.seq,
                    tensor.seq, block.k.count - wave_key, dims);
}

// Replaces the elements of the wave's rows of dk that a scaled run replaces.
DEVICE void replace_dk(BackwardArguments& a, const Block& block, int wave_key, const Accumulators& dk, float factor) {
  if (a.dk.data == nullptr) return;
  const int lane = thread_id() % kWave;
  char* const rows = first_row_of(a.dk, block.batch, block.k, block.head);
  for_rows<1>([&](int, int half) {
    const int key = wave_key + row_in_wave(0, half, lane);
    if (key < block.k.count)
      replace_not_finite<T>(rows + key * a.dk.seq, a.problem.head_dim, dk[0], half, lane, factor);
  });
}

// S^T and dP^T of a step, and the statistics of its rows.
DEVICE void multiply(const RowSteps& steps, const Step& step, int buffer, int run, bool attends, const StagedKeys& k,
                     const StagedKeys& v, Tiles& s, Tiles& ds) {
  const int thread = thread_id(), wave_key = thread / kWave * kTile;
  if (wave_key < kQueries) steps.make_statistics(run, step, buffer, wave_key, thread);
  if (attends) multiply_rows<T>(wave_key, k, steps.q(step, buffer, thread), s, v, steps.dout(step, buffer, thread), ds);
}

// Turns S^T and dP^T of a step into P^T and dS^T.
DEVICE void step_gradients(Problem& p, const Block& block, const Queries& own, const RowSteps& steps, const Step& step,
                           int buffer, int run, Tiles& s, Tiles& ds) {
  const int wave_key = thread_id() / kWave * kTile;
  Block of_head = block;
  of_head.head = step.head;
  const bool masked = run != kFirstRun || step.first < own.full_begin || step.first + kQueries > own.full_end ||
                      wave_key + kTile > block.k.count;
  scale_gradients<T>(run, ds);
  const auto compute = [&](bool some_masked) {
    transposed_gradients<false>(p, of_head, wave_key, step.first, some_masked, some_masked && run != kFirstRun,
                                steps.statistics(buffer, 0), s, ds);
  };
  if (masked) compute(true);
  else compute(false);
}

DEVICE void share(const Scores& scores, int wave_key, const Rounded<T, 1, kQueryTiles>& ds) {
  const int lane = thread_id() % kWave;
#pragma unroll
  for (int n = 0; n < kQueryTiles; ++n)
    for_rows<1>([&](int, int half) {
      *reinterpret_cast<T::pair*>(scores.at(wave_key + row_in_wave(0, half, lane)) + n * 8 + lane % 4 * 2) =
          ds[0][n][half];
    });
}

// Computes and stores the wave's part of a step's dq, through the step's rows of Q. Returns true if it must be computed
// again.
DEVICE bool step_dq(BackwardArguments& a, const Block& block, const RowSteps& steps, const Step& step, int buffer,
                    int run, const StagedKeys& k, const Scores& scores) {
  Problem& p = a.problem;
  const int thread = thread_id(), lane = thread % kWave, wave = thread / kWave;
  const int tile_row = wave % kStepTiles * kTile, dim = wave / kStepTiles * kSliceDims, first = step.first + tile_row;
  if (dim >= kHeadDim) return false;
  TileC dq[1][kSliceDims / 8] = {};
#pragma unroll
  for (int key = 0; key < kKeys; key += kTile) {
    if (key >= block.k.count) break;
    add_product<T, kTile>([&](int, int) { return scores.operand_a_transposed(key, tile_row); }, k.from(key, dim), dq);
  }
  const auto q = steps.q(step, buffer, thread);
  const int rows_left = block.q.count - first;
  char* const to = first_row_of(a.dq, block.batch, block.q, step.head) + first * a.dq.seq;
  bool again = false;
  for_rows<1>([&](int, int half) {
    const int row = row_in_wave(0, half, lane);
    const float lse = steps.statistics_at(buffer, tile_row + row).lse;
    again |= not_finite(dq[0], half) && lse == lse;
    if (run < kScaledRun) stage<T>(q.at(tile_row + row) + dim, dq[0], half, lane, p.scale);
    else if (row < rows_left)
      replace_not_finite<T>(to + row * a.dq.seq + dim * StagedQueries::kSize, p.head_dim - dim, dq[0], half, lane,
                            p.scale / gradient_scale<T>(run));
  });
  if (run < kScaledRun) store_slice<kTile, kSliceDims>(q, tile_row, dim, to, a.dq.seq, rows_left, p.head_dim);
  return again;
}

// K or V in shared memory.
DEVICE StagedKeys staged(const rapt_abi_rows& tensor, const Block& block, int dims, char* shared) {
  return {
      first_row_of(tensor, block.batch, block.k, block.head), tensor.seq, dims, 0, block.k.count, shared, thread_id()};
}

// Starts to copy K, V and the rows of the first step, which it returns.
DEVICE Step start(BackwardArguments& a, const RowSteps& steps, char* shared) {
  staged(a.k, steps.block, a.problem.head_dim, shared).load(0);
  staged(a.v, steps.block, a.problem.head_dim_v, shared + kValuesAt).load(0);
  const Step step = steps.first();
  if (steps.has(step)) steps.load(step, 0, thread_id());
  return step;
}

// Stores the wave's rows of dk and dv.
DEVICE void store_keys(BackwardArguments& a, const Block& block, char* shared, int run, const Accumulators& dk,
                       const Accumulators& dv) {
  Problem& p = a.problem;
  const int wave_key = thread_id() / kWave * kTile;
  if (run >= kScaledRun) {
    replace_dk(a, block, wave_key, dk, p.scale / gradient_scale<T>(run));
  } else {
    store(a.dk, block, staged(a.k, block, p.head_dim, shared), wave_key, dk, p.scale, p.head_dim);
    store(a.dv, block, staged(a.v, block, p.head_dim_v, shared + kValuesAt), wave_key, dv, 1, p.head_dim_v);
  }
}

// Returns true if it must run again.
DEVICE bool backward_short(BackwardArguments& a, char* shared, int run) {
  Problem& p = a.problem;
  const Block block = key_block_of(p, a.tiles, kKeys);
  const Queries rows = {0, block.q.count, 0, 0};  // all: a row that attends nothing has a dq of 0
  Step step = start(a, {{a, block, rows, shared + kStepsAt}}, shared);
  Accumulators dv = {}, dk = {};
  bool again = false;
#pragma unroll 1
  for (int buffer = 0;; buffer ^= 1) {
    const Block same = anew(block);
    const RowSteps steps = {{a, same, rows, shared + kStepsAt}};
    if (!steps.has(step)) break;
    const StagedKeys k = staged(a.k, same, p.head_dim, shared), v = staged(a.v, same, p.head_dim_v, shared + kValuesAt);
    if (run != kFirstRun) {  // the last step removed Inf and NaN
      barrier();
      k.load(0);
    }
    wait_for_copies();
    barrier();  // and the last step's rows have been read
    if (const Step next = steps.next(step); steps.has(next)) steps.load(next, buffer ^ 1, thread_id());
    const Queries own = queries_of(p, same, thread_id() / kWave * kTile, kTile);
    const bool attends = step.first < own.end && step.first + kQueries > own.begin;
    Tiles s = {}, ds = {};
    multiply(steps, step, buffer, run, attends, k, v, s, ds);
    barrier();  // the statistics are complete
    if (run != kFirstRun) {
      remove_not_finite<2 * kQueries, kThreads>(steps.q(step, buffer, thread_id()).from(0, 0));  // dO is behind Q
      remove_not_finite(k);
    }
    Rounded<T, 1, kQueryTiles> weights = {}, rounded = {};
    if (attends) {
      step_gradients(p, same, own, steps, step, buffer, run, s, ds);
      round_tiles<T>(s, weights);
      round_tiles<T>(ds, rounded);
    }
    const int thread = thread_id();
    const Scores scores = {shared + kScoresAt, thread};
    share(scores, thread / kWave * kTile, rounded);
    if (attends) {
      add_product<T>(weights, steps.dout(step, buffer, thread), dv);
      add_product<T>(rounded, steps.q(step, buffer, thread), dk);
    }
    barrier();  // dS is complete, and Q has been read
    if (a.dq.data != nullptr)
      again |= step_dq(a, same, steps, step, buffer, run, staged(a.k, same, p.head_dim, shared), scores);
    step = steps.next(step);
  }

  wait_for_copies();
  barrier();  // K and V have been read
  store_keys(a, anew(block), shared, run, dk, dv);
  for_rows<1>([&](int, int half) { again |= not_finite(dk[0], half) || not_finite(dv[0], half); });
  return any_thread(again);
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  extern __shared__ __align__(16) char shared[];
  using namespace rapt::nvidia;
  if (run_until_finite<T, backward_short>(arguments, shared))
    add_infinite_rows<T, false, kKeys, kWaves, AllWaves, RowsOfDout<T>>(
        arguments, key_block_of(arguments.problem, arguments.tiles, kKeys));
}
