// dk and dv. The tiles are transposed, keys by queries: S^T = K Q^T and dP^T = V dO^T, so that P^T and dS^T, rounded, are
// operands of dV = P^T dO and dK = dS^T Q.
//
// A workgroup of RAPT_WAVES waves computes 16 * RAPT_QUERY_TILES keys of a head of k for each wave, in steps of
// RAPT_BLOCK_K queries of each head of q that shares it, one after another; the next step's rows are copied meanwhile.
// With RAPT_HEAD_SLICES 2, where registers do not hold both gradients, the first half of the waves computes dv, the
// other half dk of the same keys.
//
// An Inf or NaN in Q reaches the lse of its row, and so all keys that the row attends. For other keys it meets only
// zeros of dS: if dk or dv is not finite, the workgroup runs again without Inf and NaN in the last two products' Q and
// dO. An Inf or NaN in dO reaches dk of all keys that the row attends: their dv is the first run's.
#include "kernels/common/score_gradients.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"
#include "kernels/nvidia/tile/products.hpp"
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
using StagedQueries = StagedRows<T, kHeadDim, kQueries, kThreads>;
using StagedSteps = StagedRows<T, kHeadDim, 2 * kQueries, kThreads>;  // Q and dO of a step
inline constexpr int kStatisticsBytes = kQueries * sizeof(rapt_abi_row_statistics);
static_assert(RAPT_SHARED_BYTES == 2 * StagedKeys::kBytes + 4 * StagedQueries::kBytes + 2 * kStatisticsBytes,
              "shared= of the row");

using Tiles = TileC[kKeyTiles][kQueryTiles];
using Accumulators = TileC[kKeyTiles][kDimTiles];

// The queries of a step: rows from `first` on of head `head` of q.
struct Step {
  int head, first;
};

// Starts to copy the statistics of a step's rows; zeros of rows that do not exist.
DEVICE void load_statistics(BackwardArguments& a, const Block& block, const Step& step, char* shared) {
  const int thread = thread_id(), row = step.first + thread;
  if (thread >= kQueries) return;
  const bool there = row < block.q.count;
  const rapt_abi_row_statistics* const rows = statistics_of(a, block.batch, block.q, step.head);
  copy_async_8(shared_address(shared) + thread * 8, rows + (there ? row : 0), there);
}

// S^T and dP^T of a step, without masks, become the operands of the products with dO and Q.
DEVICE void gradients(Problem& p, const Block& block, int first_key, int first_row, bool masked,
                      const char* statistics, Tiles& s, Tiles& ds, Rounded<T, kKeyTiles, kQueryTiles>& weights,
                      Rounded<T, kKeyTiles, kQueryTiles>& rounded) {
  const int lane = thread_id() % kWave;
#pragma unroll
  for (int n = 0; n < kQueryTiles; ++n) {
    const int row = n * 8 + lane % 4 * 2;
    const float4 pair = *reinterpret_cast<const float4*>(statistics + row * sizeof(rapt_abi_row_statistics));
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      using Column = ColumnLogits<kKeyTiles, kQueryTiles>;
      const rapt_abi_row_statistics of_row =
          column == 0 ? rapt_abi_row_statistics{pair.x, pair.y} : rapt_abi_row_statistics{pair.z, pair.w};
      score_gradients<kGeneral>(
          p, block, first_key, masked, [&] { return query_of(p, block, first_row + row + column); }, of_row,
          Column{s, n, column, lane}, Column{ds, n, column, lane});
    }
    for_rows<kKeyTiles>([&](int m, int half) {
      weights[m][n][half] = T::pack(s[m][n][2 * half], s[m][n][2 * half + 1]);
      rounded[m][n][half] = T::pack(ds[m][n][2 * half], ds[m][n][2 * half + 1]);
    });
  }
}

// Stores the wave's rows of dk or dv, through its rows of K or V in shared memory.
DEVICE void store(const rapt_abi_rows& tensor, const Block& block, const StagedKeys& staged, int wave_key,
                  const Accumulators& sums, float factor, int dims) {
  if (tensor.data == nullptr) return;
  const int lane = thread_id() % kWave, first = block.first_row + wave_key;
  for_rows<kKeyTiles>([&](int m, int half) {
    stage<T>(staged.at(wave_key + row_in_wave(m, half, lane)), sums[m], half, lane, factor);
  });
  store_rows<kWaveKeys>(staged, wave_key,
                        first_row_of(tensor, block.batch, block.k, block.head) + first * tensor.seq, tensor.seq,
                        block.k.count - first, dims);
}

// Bit 2 * m + half: whether that row of dk is not finite. Waves that compute dv get it from those of the same keys' dk.
DEVICE int rows_not_finite(const Accumulators& dk, char* shared) {
  int rows = 0;
  for_rows<kKeyTiles>([&](int m, int half) { rows |= not_finite(dk[m], half) << (2 * m + half); });
  if (kBoth) return rows;
  constexpr int kKeyThreads = kWaves * kWave;
  shared[thread_id()] = static_cast<char>(rows);
  barrier();
  return shared[kKeyThreads + thread_id() % kKeyThreads];
}

// Stores the wave's rows of dv except for `kept`, bits as above. What the kernel knows is computed again, because
// keeping it for this would take registers that the loop needs.
DEVICE void store_others(BackwardArguments& a, int kept, const Accumulators& dv) {
  if (a.dv.data == nullptr) return;
  const Block block = key_block_of(a.problem, a.tiles, kKeys);
  const int lane = thread_id() % kWave, first_key = block.first_row + thread_id() / kWave % kWaves * kWaveKeys;
  char* const rows = first_row_of(a.dv, block.batch, block.k, block.head);
  for_rows<kKeyTiles>([&](int m, int half) {
    const int key = first_key + row_in_wave(m, half, lane);
    if (key < block.k.count && !(kept >> (2 * m + half) & 1))
      store_elements<T>(rows + key * a.dv.seq, a.problem.head_dim_v, dv[m], half, lane);
  });
}

// Returns whether it must run again, without Inf and NaN in Q and dO.
DEVICE bool backward_dkv(BackwardArguments& a, char* shared, bool finite) {
  Problem& p = a.problem;
  const Block block = key_block_of(p, a.tiles, kKeys);
  if (block.first_row >= block.k.count) return false;
  const int thread = thread_id(), wave = thread / kWave, wave_key = wave % kWaves * kWaveKeys;
  const int first_key = block.first_row + wave_key;
  const bool wants_dv = kBoth || wave < kWaves, wants_dk = kBoth || !wants_dv;
  const Queries rows = queries_of(p, block, block.first_row, kKeys);  // of the workgroup
  const Queries own = queries_of(p, block, first_key, kWaveKeys);

  char* const after_keys = shared + 2 * StagedKeys::kBytes;
  char* const shared_statistics = after_keys + 4 * StagedQueries::kBytes;
  const StagedKeys k(first_row_of(a.k, block.batch, block.k, block.head), a.k.seq, p.head_dim, 0, block.k.count, shared,
                     thread);
  const StagedKeys v(first_row_of(a.v, block.batch, block.k, block.head), a.v.seq, p.head_dim_v, 0, block.k.count,
                     shared + StagedKeys::kBytes, thread);
  // Of a step, in one of two buffers.
  const auto staged_q = [&](const Step& step, int buffer) {
    return StagedQueries(first_row_of(a.q, block.batch, block.q, step.head), a.q.seq, p.head_dim, rows.begin, rows.end,
                         after_keys + 2 * buffer * StagedQueries::kBytes, thread);
  };
  const auto staged_dout = [&](const Step& step, int buffer) {
    return StagedQueries(first_row_of(a.dout, block.batch, block.q, step.head), a.dout.seq, p.head_dim_v, rows.begin,
                         rows.end, after_keys + (2 * buffer + 1) * StagedQueries::kBytes, thread);
  };
  const auto load = [&](const Step& step, int buffer) {
    staged_q(step, buffer).load(step.first);
    staged_dout(step, buffer).load(step.first);
    load_statistics(a, block, step, shared_statistics + buffer * kStatisticsBytes);
  };

  const int begin = rows.begin / kQueries * kQueries, end_head = (block.head + 1) * p.group;
  Step step = {rows.begin < rows.end ? block.head * p.group : end_head, begin};
  k.load(block.first_row);
  v.load(block.first_row);
  if (step.head < end_head) load(step, 0);
  Accumulators dv = {}, of_dk = {};
  Accumulators& dk = kBoth ? of_dk : dv;
#pragma unroll 1
  for (int buffer = 0; step.head < end_head; buffer ^= 1) {
    wait_for_copies();
    barrier();  // and the last step's rows have been read
    Step next = {step.head, step.first + kQueries};
    if (next.first >= rows.end) next = {step.head + 1, begin};
    if (next.head < end_head) load(next, buffer ^ 1);
    const StagedQueries q = staged_q(step, buffer), dout = staged_dout(step, buffer);
    const bool attends = step.first < own.end && step.first + kQueries > own.begin;
    Tiles s, ds = {};
    if (attends) {
      const auto k_of = [&](int m, int dim) { return k.operand_a(wave_key + m * kTile, dim); };
      const auto v_of = [&](int m, int dim) { return v.operand_a(wave_key + m * kTile, dim); };
      if (wants_dk) multiply_transposed<T>(k_of, q, s, v_of, dout, ds);
      else multiply_transposed<T>(k_of, q, s);
    }
    if (finite) remove_not_finite(StagedSteps(nullptr, 0, 0, 0, 0, q.shared, thread));  // dO is behind Q
    if (attends) {
      Block of_head = block;
      of_head.head = step.head;
      const bool masked = step.first < own.full_begin || step.first + kQueries > own.full_end;
      Rounded<T, kKeyTiles, kQueryTiles> weights, rounded;
      gradients(p, of_head, first_key, step.first, masked, shared_statistics + buffer * kStatisticsBytes, s, ds,
                weights, rounded);
      if (wants_dv) add_product<T>(weights, dout, dv);
      if (wants_dk) add_product<T>(rounded, q, dk);
    }
    step = next;
  }

  wait_for_copies();
  barrier();  // K and V have been read
  if (wants_dk) store(a.dk, block, k, wave_key, dk, p.scale, p.head_dim);
  if (finite) {
    const int kept = rows_not_finite(dk, shared_statistics);
    if (wants_dv) store_others(a, kept, dv);
    return false;
  }
  if (wants_dv) store(a.dv, block, v, wave_key, dv, 1, p.head_dim_v);
  bool again = false;
  for_rows<kKeyTiles>([&](int m, int half) { again |= not_finite(dk[m], half) || not_finite(dv[m], half); });
  return any_thread(again);
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  extern __shared__ __align__(16) char shared[];
#pragma unroll 1
  for (bool finite = false; rapt::nvidia::backward_dkv(arguments, shared, finite); finite = true) {
  }
}
