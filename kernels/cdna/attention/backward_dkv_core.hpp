// dk and dv where a lane owns a key, or RAPT_QUERY_TILES keys (backward_core.hpp).
#pragma once

#include "kernels/cdna/attention/backward_core.hpp"
#include "kernels/cdna/tile/statistics.hpp"
#include "kernels/common/infinite_rows.hpp"

namespace rapt::amd {

inline constexpr int kKeyTiles = RAPT_QUERY_TILES, kWaveKeys = kKeyTiles * kTile, kKeys = kWaves * kWaveKeys;

// What a schedule of keys may leave out.
struct KeySchedule : Schedule {
  static constexpr bool kExcludesMissingKeys = false;  // whose K is 0
  static constexpr bool kHasDk = true, kHasDv = true;
  static constexpr int kDk = 0, kDv = 1;  // of a tile's sums

  DEVICE_MEMBER void prepare(const Stepped& over, int first, Products& x) const {
    const int first_row = first + M::element(0, over.thread % kWave / kTile);
    subtract_lse(over.a.problem.scale, x, [&](int r) { return over.lse_of(first_row + M::element(r, 0)); });
  }
  DEVICE Block block_of_keys(BackwardArguments& a) { return key_block_of(a.problem, a.tiles, kKeys); }
  template <class State>
  DEVICE void load_keys(BackwardArguments&, const Block&, char*, State&) {}
};

// Adds what the queries of one head of q contribute: head `of_group` of the group that shares the head of k. Some query
// must attend a key. The block is computed again for each head, because the loop needs its scalar registers.
template <class Work>
DEVICE void add_head(BackwardArguments& a, int of_group, int run, char* lds, typename Work::State& state) {
  Block block = Work::block_of_keys(a);
  block.head = block.head * a.problem.group + of_group;
  const int thread = opaque_thread_id();
  const int first_key = block.first_row + uniform(thread / kWave) * kWaveKeys;
  const Queries rows = queries_of(a.problem, block, block.first_row, kKeys);  // of the workgroup
  const Tensor q = tensor_of(a.q, block, block.q, block.head, a.problem.head_dim);
  const Tensor dout = tensor_of(a.dout, block, block.q, block.head, a.problem.head_dim_v);
  const Stepped over = {a, block, thread, run, lds, {rows.begin, rows.end, 0, 0}, q, dout};
  Queries own[kKeyTiles], attending[kKeyTiles];
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) {
    own[t] = queries_of(a.problem, block, first_key + t * kTile, kTile);
    attending[t] = queries_of(a.problem, block, first_key + t * kTile + thread % kTile, 1);
    if (Work::kExcludesMissingKeys && first_key + (t + 1) * kTile > block.k.count) own[t].full_begin = own[t].end;
  }
  run_steps(Work(over, state), over, own, attending);
}

template <class Work>
DEVICE void store(BackwardArguments& a, int run, const typename Work::State& state) {
  const Block block = Work::block_of_keys(a);
  const int thread = opaque_thread_id(), lane = thread % kWave;
  char* const dk_rows = first_row_of(a.dk, block.batch, block.k, block.head);
  char* const dv_rows = first_row_of(a.dv, block.batch, block.k, block.head);
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) {
    const int key = block.first_row + uniform(thread / kWave) * kWaveKeys + t * kTile + lane % kTile;
    if (key >= block.k.count) return;
    const auto& sums = state.tiles[t].sums;
    if (Work::kHasDk && a.dk.data != nullptr)
      store_run<T>(run, dk_rows + key * a.dk.seq, a.problem.head_dim, aligned(dk_rows, a.dk.seq), lane, a.problem.scale,
                   sums[Work::kDk]);
    if (Work::kHasDv && a.dv.data != nullptr && !is_scaled<T>(run))
      store_result<T>(dv_rows + key * a.dv.seq, a.problem.head_dim_v, aligned(dv_rows, a.dv.seq), lane, 1,
                      sums[Work::kDv]);
  }
}

// Returns whether it must run again (runs.hpp).
template <class Work>
DEVICE bool backward_dkv(BackwardArguments& a, char* lds, int run) {
  const Block block = Work::block_of_keys(a);
  if (block.first_row >= block.k.count) return false;
  const int thread = opaque_thread_id(), lane = thread % kWave;
  const Tensor of_k = tensor_of(a.k, block, block.k, block.head, a.problem.head_dim);
  const Tensor of_v = tensor_of(a.v, block, block.k, block.head, a.problem.head_dim_v);
  typename Work::State state = {};
  Work::load_keys(a, block, lds, state);
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) {
    M::B k[kSteps] = {}, v[kSteps] = {};
    const int key = block.first_row + uniform(thread / kWave) * kWaveKeys + t * kTile + lane % kTile;
    if (key < block.k.count) {
      of_k.load(key, lane, k);
      if (Work::kHasDk) of_v.load(key, lane, v);
    }
    auto& tile = state.tiles[t];
    OwnRows::keep(k, tile.own.s);
    if (Work::kHasDk) OwnRows::keep(v, tile.own.dp);
#pragma unroll
    for (int d = 0; d < kDimTiles; ++d)
      for (auto& sum : tile.sums) in_accumulators(sum[d]);
  }
  if (const Queries rows = queries_of(a.problem, block, block.first_row, kKeys); rows.begin < rows.end) {
    int g = 0;
#pragma nounroll
    do {
      add_head<Work>(opaque_copy(a), g, run, lds, state);
    } while (++g < opaque_copy(a).problem.group);
  }
  store<Work>(opaque_copy(a), run, state);
  bool again = false;
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t)
    again |= not_finite(state.tiles[t].sums[Work::kDk]) || not_finite(state.tiles[t].sums[Work::kDv]);
  return vote<kWaves>(again, lds);
}

template <class Work>
DEVICE void run_backward_dkv(char* lds) {
  if (!run_until_finite<T, backward_dkv<Work>>(lds)) return;
  BackwardArguments& a = opaque_copy(arguments<BackwardArguments>());
  add_infinite_rows<T, false, kKeys, kWaves>(a, Work::block_of_keys(a));
}

}  // namespace rapt::amd
