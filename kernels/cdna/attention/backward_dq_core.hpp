// dq where a lane owns a query (backward_core.hpp).
#pragma once

#include "kernels/amd/tile/row_statistics.hpp"
#include "kernels/cdna/attention/backward_core.hpp"
#include "kernels/cdna/tile/statistics.hpp"

namespace rapt::amd {

inline constexpr int kRows = kWaves * kTile;

using State = WaveState<OwnStatistics, 1, 1>;

// A row without keys has no gradient, whatever its dO is, though with a sink it has an lse.
DEVICE float delta_of(const rapt_abi_row_statistics& row, const Query& query) {
  return query.begin < query.end && row.lse != __builtin_inff() ? row.delta : 0;
}

// What schedules of a query have in common.
struct QuerySchedule : Schedule {
  const Stepped& over;
  const int row;  // the lane's

  // In a later run, dP also becomes dP - delta, so that a delta of Inf or NaN does not reach what exclude() sets to 0.
  DEVICE_MEMBER void prepare(const Stepped&, int, Products& x) const {
    const float lse = over.lse_of(row);
    subtract_lse(over.a.problem.scale, x, [&](int) { return lse; });
    const float delta =
        delta_of(over.statistics()[min(row, over.block.q.count - 1)], query_of(over.a.problem, over.block, row));
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) x.dp[r] -= delta;
  }
};

// Adds what the keys contribute; there must be some.
template <class Work>
DEVICE void add_keys(BackwardArguments& a, int run, char* lds, State& state) {
  const Block block = block_of(a.problem, a.tiles, kRows);
  const int thread = opaque_thread_id(), head_k = block.head / a.problem.group;
  const int first_row = block.first_row + uniform(thread / kWave) * kTile;
  const Keys own[] = {keys_of(a.problem, block, first_row, kTile)};
  const Query query = query_of(a.problem, block, first_row + thread % kTile);
  const Keys attending[] = {{query.begin, query.end, 0, 0}};
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);  // of the workgroup
  const Tensor k = tensor_of(a.k, block, block.k, head_k, a.problem.head_dim);
  const Tensor v = tensor_of(a.v, block, block.k, head_k, a.problem.head_dim_v);
  const Stepped over = {a, block, thread, run, lds, keys, k, v};
  run_steps(Work{{{}, over, query.row}, state}, over, own, attending);
}

// Returns whether it must run again (runs.hpp).
template <class Work>
DEVICE bool backward_dq(BackwardArguments& a, char* lds, int run) {
  const Block block = block_of(a.problem, a.tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = opaque_thread_id(), lane = thread % kWave;
  const int first_row = block.first_row + uniform(thread / kWave) * kTile, row = first_row + lane % kTile;

  M::B q[kSteps] = {}, dout[kSteps] = {};
  const Tensor of_q = tensor_of(a.q, block, block.q, block.head, a.problem.head_dim);
  const Tensor of_dout = tensor_of(a.dout, block, block.q, block.head, a.problem.head_dim_v);
  if (row < block.q.count) {
    if (a.dq.data != nullptr) of_q.load(row, lane, q);
    of_dout.load(row, lane, dout);
  }
  const rapt_abi_row_statistics statistics = make_statistics<T>(a, block, first_row, lane, dout);
  if (a.dq.data == nullptr) return false;

  State state = {};
  // In later runs both are subtracted before keys are excluded (prepare).
  const Query query = query_of(a.problem, block, row);
  float lse_log2 = run == kFirstRun ? marked(statistics.lse) * kLog2e : 0;
  computed_here(lse_log2);  // clang 22 would store both as one vector, in LDS
  state.statistics = {lse_log2, run == kFirstRun ? delta_of(statistics, query) : 0};
  auto& tile = state.tiles[0];
  OwnRows::keep(q, tile.own.s);
  OwnRows::keep(dout, tile.own.dp);
#pragma unroll
  for (int d = 0; d < kDimTiles; ++d) in_accumulators(tile.sums[0][d]);
  if (const Keys keys = keys_of(a.problem, block, block.first_row, kRows); keys.begin < keys.end)
    add_keys<Work>(opaque_copy(a), run, lds, state);

  BackwardArguments& again = opaque_copy(a);
  const Block same = block_of(again.problem, again.tiles, kRows);  // again, as scalar registers are few
  const int again_row = same.first_row + opaque_thread_id() / kWave * kTile + opaque_thread_id() % kTile;
  char* const head = first_row_of(again.dq, same.batch, same.q, same.head);
  if (again_row < same.q.count)
    store_run<T>(run, head + again_row * again.dq.seq, again.problem.head_dim, aligned(head, again.dq.seq),
                 opaque_thread_id() % kWave, again.problem.scale, tile.sums[0]);
  return vote<kWaves>(not_finite(tile.sums[0]) && state.statistics.lse_log2 == state.statistics.lse_log2, lds);
}

}  // namespace rapt::amd
