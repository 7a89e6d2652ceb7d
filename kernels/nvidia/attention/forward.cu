// Forward attention with mma.sync, cp.async and ldmatrix: every GPU since Ampere. S = Q K^T, O = P V; the accumulators
// of S, rounded, are the operand of the second product.
//
// A workgroup of RAPT_WAVES waves computes RAPT_WAVES * RAPT_QUERY_TILES * 16 rows of one head, in tiles of
// RAPT_BLOCK_K keys. Each load of K and V into registers serves all tiles of the wave's queries. A tile of V is copied
// to shared memory during the first product, the next tile of K during the rest. A variant is RAPT_HEAD_DIM (any
// head_dim and head_dim_v up to it), RAPT_DTYPE and RAPT_GENERAL.
#include "kernels/common/sink.hpp"
#include "kernels/nvidia/attention/attend.hpp"
#include "kernels/nvidia/tile/result.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kQueryTiles = RAPT_QUERY_TILES, kWaveRows = kQueryTiles * kTile, kRows = kWaves * kWaveRows;
inline constexpr int kKeyTiles = kKeys / 8, kDimTiles = kHeadDim / 8;
inline constexpr bool kGeneral = RAPT_GENERAL;
inline constexpr bool kKeepQ = kStep<T> == 16 && kQueryTiles * kHeadDim <= 128;  // in registers, 32 at most
using StagedQ = StagedRows<T, kHeadDim, kRows, kThreads>;
using StagedKeys = StagedRows<T, kHeadDim, kKeys, kThreads>;
static_assert(RAPT_SHARED_BYTES == StagedQ::kBytes + 2 * StagedKeys::kBytes, "shared= of the row");

using Accumulators = TileC[kQueryTiles][kDimTiles];
using Softmaxes = Softmax<T, kGeneral>[kQueryTiles][2];

// Stores a pass's result. Returns true if a row has an Inf or NaN that may come from a key it does not attend.
DEVICE bool store(Arguments& a, int pass, Softmaxes& softmax, Accumulators& o, char* shared) {
  const Block block = block_of(a.problem, a.q_tiles, kRows);
  const int thread = thread_id(), lane = thread % kWave;
  const int staged_row = thread / kWave * kWaveRows, first_row = block.first_row + staged_row;
  const StagedQ staged(nullptr, 0, 0, 0, 0, shared, thread);
  char* const out = first_row_of(a.out, block.batch, block.q, block.head);
  const int dims = a.problem.head_dim_v;
  const Sink sink = Sink::of<kGeneral>(a.problem, block);
  bool again = false;
  for_rows<kQueryTiles>([&](int m, int half) {
    const int row = first_row + row_in_wave(m, half, lane);
    if (pass >= kAbove) {
      if (row < block.q.count)
        add_where_weighted<T>(out + row * a.out.seq, dims, added<kGeneral>(pass), o[m], half, lane);
      return;
    }
    Softmax<T, kGeneral>& own = softmax[m][half];
    const bool unsure = !kGeneral && huge(own.reference);
    const float factor = own.finish(sink.logit) * (kGeneral ? a.problem.keep_scale : 1);
    if (row < block.q.count) {
      again |= unsure || (not_finite(o[m], half) && own.sum == own.sum);
      if (lane % 4 == 0) store_lse(a, block, row, sink.lse(own.lse()));
    }
    stage<T>(staged.at(staged_row + row_in_wave(m, half, lane)), o[m], half, lane, factor);
  });
  if (pass < kAbove)
    store_rows<kWaveRows>(staged, staged_row, out + first_row * a.out.seq, a.out.seq, block.q.count - first_row, dims);
  return again;
}

using Fragments = Fragment[kKeepQ ? kQueryTiles : 1][kHeadDim / kStep<T>];

// Keeps the wave's rows of q, which are being copied to shared memory, in registers.
DEVICE void keep(const StagedQ& q, int wave_row, Fragments& kept_q) {
  wait_for_copies();
  barrier();
#pragma unroll
  for (int m = 0; m < kQueryTiles; ++m)
#pragma unroll
    for (int dim = 0; dim < kHeadDim; dim += kStep<T>)
      kept_q[m][dim / kStep<T>] = q.operand_a(wave_row + m * kTile, dim);
}

// S = Q K^T
DEVICE void multiply_tile(const StagedQ& q, int wave_row, const Fragments& kept_q, const StagedKeys& k,
                          TileC (&s)[kQueryTiles][kKeyTiles]) {
  if constexpr (std::is_same_v<T, fp32>) {
    multiply_rows<T>(wave_row, q, k, s);
  } else {
    multiply_logits<T>(
        [&](int m, int dim) {
          if constexpr (kKeepQ) return kept_q[m][dim / kStep<T>];
          else return q.operand_a(wave_row + m * kTile, dim);
        },
        k, s);
  }
}

// One pass over the keys. Returns true if another must follow (not_finite.hpp).
DEVICE bool forward(Arguments& a, char* shared, int pass) {
  const Block block = block_of(a.problem, a.q_tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = thread_id(), wave_row = thread / kWave * kWaveRows, first_row = block.first_row + wave_row;
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);  // of the workgroup
  const WaveRows rows = {first_row, keys_of(a.problem, block, first_row, kWaveRows)};

  const int head_k = block.head / a.problem.group;
  char *const shared_k = shared + StagedQ::kBytes, *const shared_v = shared_k + StagedKeys::kBytes;
  const StagedQ q(first_row_of(a.q, block.batch, block.q, block.head), a.q.seq, a.problem.head_dim, 0, block.q.count,
                  shared, thread);
  const StagedKeys k(first_row_of(a.k, block.batch, block.k, head_k), a.k.seq, a.problem.head_dim, keys.begin, keys.end,
                     shared_k, thread);
  const StagedKeys v(first_row_of(a.v, block.batch, block.k, head_k), a.v.seq, a.problem.head_dim_v, keys.begin,
                     keys.end, shared_v, thread);
  Accumulators o = {};
  Softmaxes softmax;
  // nvcc 13.5 applies the members' initializers only to the first row of an array of arrays.
  for_rows<kQueryTiles>([&](int m, int half) { softmax[m][half] = Softmax<T, kGeneral>(); });

  const int begin = keys.begin / kKeys * kKeys;
  Fragments kept_q;
  if (begin < keys.end) {
    q.load(block.first_row);
    k.load(begin);
    if constexpr (kKeepQ) keep(q, wave_row, kept_q);
  }
#pragma unroll 1
  for (int first = begin; first < keys.end; first += kKeys) {
    wait_for_copies();  // of K
    barrier();          // and the last tile's V has been read
    v.load(first);
    const bool attends = rows.attends(first, kKeys);
    TileC s[kQueryTiles][kKeyTiles];
    if (attends) multiply_tile(q, wave_row, kept_q, k, s);
    wait_for_copies();  // of V
    barrier();          // and K has been read
    if (first + kKeys < keys.end) k.load(first + kKeys);
    replace<kGeneral>(pass, v);
    if (!attends) continue;
    Rounded<T, kQueryTiles, kKeyTiles> p;
    const bool partial = first < rows.keys.full_begin || first + kKeys > rows.keys.full_end;
    const auto row_of = [&](int row) { return ResultRow{block, rows.query(a.problem, block, row)}; };
    probabilities<T, kGeneral, 2>(a.problem, pass, partial, row_of, first, thread % kWave, s, softmax, o, p);
    add_product<T>(p, v, o);
  }

  const bool again = store(a, pass, softmax, o, shared);
  return any_thread(again) || pass != kAll;
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_forward_args arguments) {
  extern __shared__ __align__(16) char shared[];
  rapt::nvidia::run_passes<rapt::nvidia::kGeneral, rapt::nvidia::forward>(arguments, shared);
}
