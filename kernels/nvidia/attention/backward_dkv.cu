// dk and dv. The tiles are transposed, keys by queries: S^T = K Q^T and dP^T = V dO^T. Rounded P^T and dS^T are then
// operands of dV = P^T dO and dK = dS^T Q.
//
// A workgroup of RAPT_WAVES waves computes 16 * RAPT_QUERY_TILES keys of a head of k for each wave. Its steps are
// RAPT_BLOCK_K queries of each head of q that shares the head of k, one after another; the next step's rows are copied
// meanwhile. With RAPT_HEAD_SLICES 2, where registers do not hold both gradients, the first half of the waves computes
// dv, the other half dk of the same keys.
//
// An Inf or NaN in Q reaches the lse of its row, and so all keys that the row attends. For other keys it meets only
// zeros of dS: if dk or dv is not finite, the workgroup runs again (runs.hpp).
#include "kernels/common/infinite_rows.hpp"
#include "kernels/nvidia/tile/query_steps.hpp"
#include "kernels/nvidia/tile/result.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K, kThreads = RAPT_WAVES * kWave;
inline constexpr bool kBoth = RAPT_HEAD_SLICES == 1;
inline constexpr int kWaves = RAPT_WAVES / RAPT_HEAD_SLICES;  // with keys of their own
inline constexpr int kKeyTiles = RAPT_QUERY_TILES, kWaveKeys = kKeyTiles * kTile, kKeys = kWaves * kWaveKeys;
inline constexpr int kQueryTiles = kQueries / 8, kDimTiles = kHeadDim / 8;
inline constexpr bool kGeneral = RAPT_GENERAL;
using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
using Steps = QuerySteps<T, kHeadDim, kQueries, kThreads>;
static_assert(RAPT_SHARED_BYTES == 2 * StagedKeys::kBytes + 2 * Steps::kBytes, "shared= of the row");

using Tiles = TileC[kKeyTiles][kQueryTiles];
using Accumulators = TileC[kKeyTiles][kDimTiles];

// Stores the wave's rows of dk or dv, through its rows of K or V in shared memory.
DEVICE void store(const rapt_abi_rows& tensor, const Block& block, const StagedKeys& staged, int wave_key,
                  const Accumulators& sums, float factor, int dims) {
  if (tensor.data == nullptr) return;
  const int lane = thread_id() % kWave, first = block.first_row + wave_key;
  for_rows<kKeyTiles>([&](int m, int half) {
    stage<T>(staged.at(wave_key + row_in_wave(m, half, lane)), sums[m], half, lane, factor);
  });
  store_rows<kWaveKeys>(staged, wave_key, first_row_of(tensor, block.batch, block.k, block.head) + first * tensor.seq,
                        tensor.seq, block.k.count - first, dims);
}

// Replaces the elements of the wave's rows of dk that a scaled run replaces. Addresses are computed again, because
// keeping them would take registers that the loop needs.
DEVICE void replace_dk(BackwardArguments& a, const Accumulators& dk, float factor) {
  if (a.dk.data == nullptr) return;
  const Block block = key_block_of(a.problem, a.tiles, kKeys);
  const int lane = thread_id() % kWave, first_key = block.first_row + thread_id() / kWave % kWaves * kWaveKeys;
  char* const rows = first_row_of(a.dk, block.batch, block.k, block.head);
  for_rows<kKeyTiles>([&](int m, int half) {
    const int key = first_key + row_in_wave(m, half, lane);
    if (key < block.k.count)
      replace_not_finite<T>(rows + key * a.dk.seq, a.problem.head_dim, dk[m], half, lane, factor);
  });
}

// Turns S^T and dP^T of a step into P^T and dS^T. Masked tiles have code of their own, so that the instructions of a
// tile's columns can be interleaved.
DEVICE void step_gradients(Problem& p, const Block& block, const Queries& own, int first_key, const Steps& steps,
                           const Step& step, int buffer, int run, Tiles& s, Tiles& ds) {
  Block of_head = block;
  of_head.head = step.head;
  const bool masked = run != kFirstRun || step.first < own.full_begin || step.first + kQueries > own.full_end;
  scale_gradients<T>(run, ds);
  const auto compute = [&](bool some_masked) {
    transposed_gradients<kGeneral>(p, of_head, first_key, step.first, some_masked, some_masked && run != kFirstRun,
                                   steps.statistics(buffer, 0), s, ds);
  };
  if (kGeneral || masked) compute(true);
  else compute(false);
}

// Returns true if it must run again.
DEVICE bool backward_dkv(BackwardArguments& a, char* shared, int run) {
  Problem& p = a.problem;
  const Block block = key_block_of(p, a.tiles, kKeys);
  if (block.first_row >= block.k.count) return false;
  const int thread = thread_id(), wave = thread / kWave, wave_key = wave % kWaves * kWaveKeys;
  const int first_key = block.first_row + wave_key;
  const bool wants_dv = kBoth || wave < kWaves, wants_dk = kBoth || !wants_dv;
  const Queries rows = queries_of(p, block, block.first_row, kKeys);  // of the workgroup
  const Queries own = queries_of(p, block, first_key, kWaveKeys);

  const StagedKeys k(first_row_of(a.k, block.batch, block.k, block.head), a.k.seq, p.head_dim, 0, block.k.count, shared,
                     thread);
  const StagedKeys v(first_row_of(a.v, block.batch, block.k, block.head), a.v.seq, p.head_dim_v, 0, block.k.count,
                     shared + StagedKeys::kBytes, thread);
  const Steps steps = {a, block, rows, shared + 2 * StagedKeys::kBytes};
  Step step = steps.first();
  k.load(block.first_row);
  v.load(block.first_row);
  if (steps.has(step)) steps.load(run, step, 0, thread);
  Accumulators dv = {}, of_dk = {};
  Accumulators& dk = kBoth ? of_dk : dv;
#pragma unroll 1
  for (int buffer = 0; steps.has(step); buffer ^= 1) {
    wait_for_copies();
    barrier();  // and the last step's rows have been read
    const Step next = steps.next(step);
    if (steps.has(next)) steps.load(run, next, buffer ^ 1, thread);
    const auto q = steps.q(step, buffer, thread), dout = steps.dout(step, buffer, thread);
    const bool attends = step.first < own.end && step.first + kQueries > own.begin;
    Tiles s, ds = {};
    if (attends) {
      // dP and delta, which backward_dq computed, have equal sums: a row that attends one key has no gradient.
      if (wants_dk) multiply_rows<T>(wave_key, k, q, s, v, dout, ds);
      else multiply_rows<T>(wave_key, k, q, s);
    }
    steps.prepare(run, step, buffer, thread);
    if (attends) {
      Rounded<T, kKeyTiles, kQueryTiles> weights, rounded;
      step_gradients(p, block, own, first_key, steps, step, buffer, run, s, ds);
      round_tiles<T>(s, weights);
      round_tiles<T>(ds, rounded);
      if (wants_dv) add_product<T>(weights, dout, dv);
      if (wants_dk) add_product<T>(rounded, q, dk);
    }
    step = next;
  }

  wait_for_copies();
  barrier();  // K and V have been read
  if (run >= kScaledRun) {
    if (wants_dk) replace_dk(a, dk, p.scale / gradient_scale<T>(run));
  } else {
    if (wants_dk) store(a.dk, block, k, wave_key, dk, p.scale, p.head_dim);
    if (wants_dv) store(a.dv, block, v, wave_key, dv, 1, p.head_dim_v);
  }
  bool again = false;
  for_rows<kKeyTiles>([&](int m, int half) { again |= not_finite(dk[m], half) || not_finite(dv[m], half); });
  return any_thread(again);
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  extern __shared__ __align__(16) char shared[];
  using namespace rapt::nvidia;
  if (run_until_finite<T, backward_dkv>(arguments, shared))
    add_infinite_rows<T, kGeneral, kKeys, RAPT_WAVES>(arguments,
                                                      key_block_of(arguments.problem, arguments.tiles, kKeys));
}
