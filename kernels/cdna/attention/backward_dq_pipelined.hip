// Like backward_dq.hip, with the parts of a tile's work interleaved: while the matrix unit computes the next tile's S
// and dP, the vector unit makes this tile's dS; while dQ is computed, the tile after the next goes to LDS. K and V are
// double-buffered there, which takes one barrier a tile. A wave has a SIMD and its 512 registers to itself.
#include "kernels/cdna/attention/dq_excluded.hpp"
#include "kernels/cdna/tile/rows_and_columns.hpp"
#include "kernels/cdna/tile/double_buffer.hpp"
#include "kernels/cdna/tile/schedule.hpp"
#include "kernels/amd/tile/row_statistics.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kRows = kWaves * kTile;
inline constexpr int kSteps = kHeadDim / M::step, kDimTiles = kHeadDim / kTile;
static_assert(!RAPT_GENERAL && kKeys == kTile);
using StagedK = BothWays<T, kHeadDim, kWaves>;
using StagedV = BufferedKeys<T, kHeadDim, kKeys, kWaves>;
inline constexpr int kLdsBytes = StagedK::bytes + 2 * StagedV::bytes;
inline constexpr int kReadsA = 2 * kSteps, kReadsB = kParts<T> * kDimTiles;  // fragments of S and dP, of dQ
inline constexpr int kProductsA = kReadsA * M::parts, kProductsB = kReadsB * M::parts;
inline constexpr int kAhead = 4;  // fragments read from LDS before the product that needs them
inline constexpr int kTasks = kRegisters / 2 * 5, kStageTasks = 3 * StagedK::kParts + 2 * StagedV::kParts;

struct Products {
  Tile s, dp;
};

// One wave's state. A lane owns one query.
struct State {
  M::Part q[kSteps * M::parts], dout[kSteps * M::parts];
  Tile dq[kDimTiles];
  float lse_log2, delta;
};

// dS of a tile, and as an operand: `task` by task, five for two elements.
struct Gradients {
  Products& x;
  const State& state;
  float scale;
  M::B ds[kParts<T>];

  DEVICE_MEMBER void pack(int pair) {
    uint32_t packed = T::pack_p(x.dp[2 * pair], x.dp[2 * pair + 1]);
    computed_here(packed);
    ds[pair / 4][pair % 4] = packed;
  }
  DEVICE_MEMBER void task(int n) {
    const int pair = n / 5, r = 2 * pair + n % 5 % 2;
    if (n % 5 < 2) x.s[r] = exp2(__builtin_fmaf(x.s[r], scale, -state.lse_log2));
    else if (n % 5 < 4) x.dp[r] = x.s[r] * (x.dp[r] - state.delta);
    else pack(pair);
  }
};

// What a tile does for the ones after it, `task` by task: the columns of the next tile to LDS, the rows of the tile
// after that, and the loads of another one.
struct Stage {
  StagedK& k;
  StagedV& v;
  int buffer;
  __amdgpu_buffer_rsrc_t of_k, of_v;

  DEVICE_MEMBER Stage(StagedK& k, StagedV& v, int buffer)
      : k(k), v(v), buffer(buffer), of_k(k.next()), of_v(v.next()) {}

  DEVICE_MEMBER void task(int n) {
    constexpr int columns = 0, rows = columns + StagedK::kParts, values = rows + StagedK::kParts,
                  load_values = values + StagedV::kParts, load_keys = load_values + StagedV::kParts;
    if (n < rows) k.store_column_part(buffer ^ 1, buffer ^ 1, n - columns);
    else if (n < values) k.store_row_part(buffer, buffer, n - rows);
    else if (n < load_values) v.store_part(buffer, n - values);
    else if (n < load_keys) v.load_part(of_v, n - load_values);
    else k.load_part(of_k, buffer ^ 1, n - load_keys);
  }
};

// The tile whose products are in `current` and whose columns are in `buffer`, and the products of the next one, whose
// rows are in the other buffer.
DEVICE void step(StagedK& k, StagedV& v, State& state, int buffer, float scale, Products& current, Products& next) {
  M::A fragment[kReadsA + kReadsB];
  const auto read = [&](int i) {
    if (i >= kReadsA + kReadsB) return;
    if (i >= kReadsA) fragment[i] = k.column_fragment(buffer, (i - kReadsA) % kDimTiles, (i - kReadsA) / kDimTiles);
    else if (i % 2 == 0) fragment[i] = k.row_fragment(buffer ^ 1, i / 2);
    else fragment[i] = v.fragment(buffer ^ 1, 0, i / 2);
  };
  Gradients gradients = {current, state, scale, {}};
#pragma unroll
  for (int i = 0; i < kAhead; ++i) read(i);
  Stage stage(k, v, buffer);
  fence();

#pragma unroll
  for (int n = 0; n < kProductsA; ++n) {
    const int i = n / M::parts, part = i / 2 * M::parts + n % M::parts;
    if (n % M::parts == 0) read(i + kAhead);
    Tile& x = i % 2 == 0 ? next.s : next.dp;
    M::multiply_to_vector(M::part(fragment[i], n % M::parts), i % 2 == 0 ? state.q[part] : state.dout[part], x,
                          part == 0);
    share<kTasks, kProductsA>(n, [&](int task) { gradients.task(task); });
    fence();
  }
#pragma unroll
  for (int n = 0; n < kProductsB; ++n) {
    const int i = n / M::parts;
    if (n % M::parts == 0) read(kReadsA + i + kAhead);
    state.dq[i % kDimTiles] =
        M::multiply_one(M::part(fragment[kReadsA + i], n % M::parts),
                        M::part(gradients.ds[i / kDimTiles], n % M::parts), state.dq[i % kDimTiles]);
    share<kStageTasks, kProductsB>(n, [&](int task) { stage.task(task); });
    fence();
  }
}

// Adds what the keys contribute; there must be some.
DEVICE void add_keys(BackwardArguments& a, int run, char* lds, State& state) {
  const Block block = block_of(a.problem, a.tiles, kRows);
  const int thread = opaque_thread_id(), half = thread % kWave / kTile;
  const int first_row = block.first_row + uniform(thread / kWave) * kTile, head_k = block.head / a.problem.group;
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);  // of the workgroup
  const Keys own = keys_of(a.problem, block, first_row, kTile);
  const int row = first_row + thread % kTile;
  const Query query = query_of(a.problem, block, row);
  const float scale = a.problem.scale_log2;
  int first = keys.begin;
  StagedK k(first_row_of(a.k, block.batch, block.k, head_k), a.k.seq, a.problem.head_dim, keys, lds, thread, 0,
            pass_of(run));
  StagedV v(first_row_of(a.v, block.batch, block.k, head_k), a.v.seq, a.problem.head_dim_v, keys, lds + StagedK::bytes,
            thread);
  const bool vectors = k.vectors() && v.vectors();

  k.load(0);
  k.load(1);
  v.start();
  barrier();  // no wave reads what an earlier pass left
  k.store_rows(0, 0);
  k.store_columns(0, 0);
  k.store_rows(1, 1);
  v.stage(0);
  v.stage(1);
  if (!vectors) {
    barrier();
    k.copy_rows(0, 2);
    k.copy_columns(0, 2);
    k.copy_rows(1, 1);
  }
  k.load(0);
  barrier();
  Products x, other;
#pragma unroll
  for (int i = 0; i < kSteps * M::parts; ++i) {
    const M::A of_k = k.row_fragment(0, i / M::parts), of_v = v.fragment(0, 0, i / M::parts);
    M::multiply_to_vector(M::part(of_k, i % M::parts), state.q[i], x.s, i == 0);
    M::multiply_to_vector(M::part(of_v, i % M::parts), state.dout[i], x.dp, i == 0);
  }

  settle(x.s);
  settle(x.dp);

  const auto advance = [&](int buffer, Products& current, Products& next) {
    barrier();
    if (run != kFirstRun) subtract_delta<M>(a, block, row, query, current);
    if (run != kFirstRun || first < own.full_begin || first + kKeys > own.full_end)
      exclude<M>(query.begin - first, query.end - query.begin, half, current);
    step(k, v, state, buffer, scale, current, next);
    if (!vectors) {
      barrier();  // what other waves wrote in this step is replaced
      k.copy_columns(buffer ^ 1, 3);
      k.copy_rows(buffer, 2);
      v.copy(buffer, 2);
    }
    first += kKeys;
  };
  // Two tiles a round, so that buffers are constants and products need not be moved. If their number is odd, the last
  // one is all zeros, and no query attends it.
  do {
    advance(0, x, other);
    advance(1, other, x);
  } while (first < keys.end);
}

// Returns whether it must run again (runs.hpp).
DEVICE bool backward_dq(BackwardArguments& a, char* lds, int run) {
  const Block block = block_of(a.problem, a.tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = opaque_thread_id(), lane = thread % kWave;
  const int first_row = block.first_row + uniform(thread / kWave) * kTile, row = first_row + lane % kTile;

  M::B q[kSteps] = {}, dout[kSteps] = {};
  const char* const q_rows = first_row_of(a.q, block.batch, block.q, block.head);
  const char* const dout_rows = first_row_of(a.dout, block.batch, block.q, block.head);
  if (row < block.q.count) {
    if (a.dq.data != nullptr)
      load_fragments<T>(q_rows + row * a.q.seq, a.problem.head_dim, aligned(q_rows, a.q.seq), M::b_offset(lane), q);
    load_fragments<T>(dout_rows + row * a.dout.seq, a.problem.head_dim_v, aligned(dout_rows, a.dout.seq),
                      M::b_offset(lane), dout);
  }
  const rapt_abi_row_statistics statistics = make_statistics<T>(a, block, first_row, lane, dout);
  if (a.dq.data == nullptr) return false;

  State state = {};
  state.lse_log2 = (statistics.lse + added_to_lse<T>(run)) * kLog2e;
  // In later runs delta comes before keys are excluded (subtract_delta).
  const Query query = query_of(a.problem, block, row);
  state.delta = run == kFirstRun ? delta_of(statistics, query) : 0;
#pragma unroll
  for (int i = 0; i < kSteps * M::parts; ++i) {
    state.q[i] = M::part(q[i / M::parts], i % M::parts);
    state.dout[i] = M::part(dout[i / M::parts], i % M::parts);
  }
#pragma unroll
  for (int d = 0; d < kDimTiles; ++d) in_accumulators(state.dq[d]);
  if (const Keys keys = keys_of(a.problem, block, block.first_row, kRows); keys.begin < keys.end)
    add_keys(opaque_copy(a), run, lds, state);

  BackwardArguments& again = opaque_copy(a);
  const Block same = block_of(again.problem, again.tiles, kRows);  // again, as scalar registers are few
  const int again_row = same.first_row + opaque_thread_id() / kWave * kTile + opaque_thread_id() % kTile;
  char* const head = first_row_of(again.dq, same.batch, same.q, same.head);
  if (again_row < same.q.count)
    store_run<T>(run, head + again_row * again.dq.seq, again.problem.head_dim, aligned(head, again.dq.seq),
                 opaque_thread_id() % kWave, again.problem.scale, state.dq);
  return vote<kWaves>(not_finite(state.dq) && state.lse_log2 == state.lse_log2, lds);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(256))) static char lds[kLdsBytes];
  run_until_finite<T, backward_dq>(lds);
}
