// Like backward_dkv_pipelined.hip, for tiles of which LDS has room for one of each kind (tile/schedule.hpp), and
// whose dK and dV do not fit in registers together: of two neighbouring workgroups, which have the same RAPT_WAVES *
// kTile keys, one computes dK, with three products, and one dV, with two. S is computed twice.
//
// Both run again as in backward_dkv.hip, each if its own result is not finite.
#include "kernels/amd/attention/attend.hpp"
#include "kernels/cdna/tile/rows_and_columns.hpp"
#include "kernels/cdna/tile/double_buffer.hpp"
#include "kernels/cdna/tile/statistics.hpp"
#include "kernels/cdna/tile/schedule.hpp"
#include "kernels/common/infinite_rows.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kKeys = kWaves * kTile;
inline constexpr int kSteps = kHeadDim / Matrix<T>::step, kDimTiles = kHeadDim / kTile;
static_assert(!RAPT_GENERAL && kQueries == kTile && RAPT_HEAD_SLICES == 2);
using Statistics = RowStatistics<T>;
using StagedRows = BufferedKeys<T, kHeadDim, kQueries, kWaves>;
template <bool OfK>  // of dO for dV, only as columns
using StagedColumns = BothWays<T, kHeadDim, kWaves, OfK ? 1 : 0, 1>;
inline constexpr int kLdsBytes = StagedColumns<true>::bytes + StagedRows::bytes;

// S^T = Q K^T and, for dK, dP^T = dO V^T. A lane owns a key.
template <bool OfK>
struct Products;
template <>
struct Products<true> {
  Tile s, dp;
};
template <>
struct Products<false> {
  Tile s;
};

// One wave's state. `sum` is dK or dV.
template <bool OfK>
struct State {
  using M = Matrix<T>;
  M::Part k[kSteps * M::parts], v[OfK ? kSteps * M::parts : 1];
  Tile sum[kDimTiles];
  Statistics statistics;  // of this tile's queries
};

// What a workgroup reads of one head of q: `columns` is Q for dK, whose rows are read too, and dO for dV.
template <bool OfK>
struct Head {
  StagedColumns<OfK> columns;
  StagedRows rows;
  StatisticsRows<T> statistics;

  DEVICE_MEMBER bool vectors() const { return columns.vectors() && rows.vectors(); }
};

// P or dS of a tile, as an operand: `task` by task, so many for two elements.
template <bool OfK>
struct Weights {
  static constexpr int kOfPair = OfK ? 5 : 3, kTasks = kRegisters / 2 * kOfPair;

  Products<OfK>& x;
  const Statistics& rows;
  float scale;
  typename Matrix<T>::B packed[kParts<T>];

  DEVICE_MEMBER void task(int n) {
    const int pair = n / kOfPair, r = 2 * pair + n % kOfPair % 2;
    if (n % kOfPair == kOfPair - 1) pack(pair);
    else if (n % kOfPair < 2) x.s[r] = exp2(__builtin_fmaf(x.s[r], scale, rows.lse(r) * -kLog2e));
    else if constexpr (OfK) x.dp[r] = x.s[r] * (x.dp[r] - rows.delta(r));
  }

 private:
  DEVICE_MEMBER void pack(int pair) {
    Tile* tile = &x.s;
    if constexpr (OfK) tile = &x.dp;
    uint32_t both = T::pack_p((*tile)[2 * pair], (*tile)[2 * pair + 1]);
    computed_here(both);
    packed[pair / 4][pair % 4] = both;
  }
};

// Makes P and dS 0 for the queries of a tile that do not attend the lane's key: all but [begin, begin + count). Adds to
// the lse of the others.
template <bool OfK>
DEVICE void exclude(int begin, int count, int half, float added, Products<OfK>& x, Statistics& rows) {
  const auto size = static_cast<uint32_t>(max(count, 0));
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    const bool attends = static_cast<uint32_t>(Matrix<T>::element(r, half) - begin) < size && x.s[r] != kMasked;
    x.s[r] = attends ? x.s[r] : 0;
    if constexpr (OfK) x.dp[r] = attends ? x.dp[r] : 0;
    rows.set(r, attends ? rows.lse(r) + added : __builtin_inff(), attends ? rows.delta(r) : 0);
  }
}

// The tile whose products are in `current`: what it adds, and the products of the next one, whose rows are in LDS. What
// is read as rows is loaded three tiles ahead; as columns, one; as both, two.
template <bool OfK>
struct Step {
  using M = Matrix<T>;
  using Columns = StagedColumns<OfK>;
  static constexpr int kSides = OfK ? 2 : 1;
  static constexpr int kRowReads = kSides * kSteps, kColumnReads = kParts<T> * kDimTiles;
  static constexpr int kFirst = kRowReads * M::parts, kSecond = kColumnReads * M::parts;  // products
  static constexpr int kColumnTasks = 2 * Columns::kParts;
  static constexpr int kRowTasks = (OfK ? Columns::kParts : 0) + 2 * StagedRows::kParts;

  Head<OfK>& head;
  State<OfK>& state;
  int set;  // of a lane's registers, which has this tile's columns
  Products<OfK>& next;
  Weights<OfK> weights;
  __amdgpu_buffer_rsrc_t of_columns, of_rows, of_statistics;

  DEVICE_MEMBER Step(Head<OfK>& head, State<OfK>& state, int set, float scale, Products<OfK>& current,
                     Products<OfK>& next)
      : head(head),
        state(state),
        set(OfK ? set : 0),
        next(next),
        weights{current, state.statistics, scale, {}},
        of_columns(head.columns.next()),
        of_rows(head.rows.next()),
        of_statistics(head.statistics.next()) {}

  DEVICE_MEMBER M::A row(int i) const {
    if constexpr (OfK)
      if (i % 2 == 0) return head.columns.row_fragment(0, i / 2);
    return head.rows.fragment(0, 0, i / kSides);
  }
  DEVICE_MEMBER M::A column(int i) const { return head.columns.column_fragment(0, i % kDimTiles, i / kDimTiles); }
  DEVICE_MEMBER void multiply_rows(int i, int n, M::Part x) {
    const int part = i / kSides * M::parts + n;
    if constexpr (OfK)
      if (i % 2 != 0) return M::multiply_to_vector(x, state.v[part], next.dp, part == 0);
    M::multiply_to_vector(x, state.k[part], next.s, part == 0);
  }
  DEVICE_MEMBER void multiply_columns(int i, int n, M::Part x) {
    Tile& sum = state.sum[i % kDimTiles];
    sum = M::multiply_one(x, M::part(weights.packed[i / kDimTiles], n), sum);
  }
  DEVICE_MEMBER void first_half(int n) {
    share<Weights<OfK>::kTasks, kFirst>(n, [&](int task) { weights.task(task); });
    share_from<kColumnTasks, 0, kFirst / 2>(n, [&](int task) {
      if (task < Columns::kParts) head.columns.store_column_part(set, 0, task);
      else head.columns.load_part(of_columns, set, task - Columns::kParts);
    });
  }
  DEVICE_MEMBER void between_halves() const {
    if (!head.vectors()) {
      barrier();  // what other waves wrote is replaced
      head.columns.copy_columns(0, OfK ? 3 : 2);
    }
    barrier();
  }
  DEVICE_MEMBER void second_half(int n) {
    share_from<Statistics::kLoads, 0, kSecond / 2>(
        n, [&](int task) { head.statistics.load_part(of_statistics, task, state.statistics); });
    share_from<kRowTasks, kSecond / 2, kSecond>(n, [&](int task) {
      const int part = task - (kRowTasks - 2 * StagedRows::kParts);
      if (part < 0) head.columns.store_row_part(set, 0, task);
      else if (part % 2 == 0) head.rows.store_part(0, part / 2);
      else head.rows.load_part(of_rows, part / 2);
    });
  }
};

// The keys of this workgroup and its neighbour.
DEVICE Block shared_block(BackwardArguments& a) {
  Block block = key_block_of(a.problem, a.tiles, kKeys / 2);
  block.first_row = block.first_row / kKeys * kKeys;
  return block;
}

// Adds what the queries of one head of q contribute, number `of_group` of those that share the head of k. Some query
// must attend a key.
template <bool OfK>
DEVICE void add_head(BackwardArguments& a, int of_group, int run, char* lds, State<OfK>& state) {
  using M = Matrix<T>;
  Block block = shared_block(a);
  block.head = block.head * a.problem.group + of_group;
  const int thread = opaque_thread_id(), half = thread % kWave / kTile;
  const int first_key = block.first_row + uniform(thread / kWave) * kTile;
  const Queries rows = queries_of(a.problem, block, block.first_row, kKeys);  // of the workgroup
  const Queries own = queries_of(a.problem, block, first_key, kTile);
  const Queries attending = queries_of(a.problem, block, first_key + thread % kTile, 1);  // the lane's key
  int first = rows.begin;
  const Keys range = {rows.begin, rows.end, 0, 0};
  const float scale = a.problem.scale_log2;
  auto &of_columns = OfK ? a.q : a.dout, &of_rows = OfK ? a.dout : a.q;
  const int dims = OfK ? a.problem.head_dim : a.problem.head_dim_v;
  const int other_dims = OfK ? a.problem.head_dim_v : a.problem.head_dim;
  Head<OfK> head = {StagedColumns<OfK>(first_row_of(of_columns, block.batch, block.q, block.head), of_columns.seq, dims,
                                       range, lds, thread, 0, pass_of(run)),
                    StagedRows(first_row_of(of_rows, block.batch, block.q, block.head), of_rows.seq, other_dims, range,
                               lds + StagedColumns<OfK>::bytes, thread),
                    StatisticsRows<T>(statistics_of(a, block.batch, block.q, block.head), range, thread % kWave)};

  head.columns.load(0);
  head.rows.start();
  barrier();  // no wave reads what an earlier head left
  if (OfK) head.columns.store_rows(0, 0);
  head.rows.stage(0);
  head.statistics.load(state.statistics);
  if (OfK) {
    if (!head.vectors()) {
      barrier();
      head.columns.copy_rows(0, 1);
    }
    head.columns.load(1);
  }
  barrier();
  Products<OfK> x, other;
#pragma unroll
  for (int i = 0; i < kSteps * M::parts; ++i) {
    const M::A q = OfK ? head.columns.row_fragment(0, i / M::parts) : head.rows.fragment(0, 0, i / M::parts);
    M::multiply_to_vector(M::part(q, i % M::parts), state.k[i], x.s, i == 0);
    if constexpr (OfK) {
      const M::A dout = head.rows.fragment(0, 0, i / M::parts);
      M::multiply_to_vector(M::part(dout, i % M::parts), state.v[i], x.dp, i == 0);
    }
  }
  settle(x.s);
  if constexpr (OfK) settle(x.dp);
  barrier();
  head.rows.stage(0);
  if (OfK) head.columns.store_rows(1, 0);
  if (OfK && !head.vectors()) {
    barrier();
    head.columns.copy_rows(0, 1);
  }

  const auto advance = [&](int set, Products<OfK>& current, Products<OfK>& next) {
    barrier();
    if (run != kFirstRun || first < own.full_begin || first + kQueries > own.full_end)
      exclude<OfK>(attending.begin - first, attending.end - attending.begin, half, added_to_lse<T>(run), current,
                   state.statistics);
    Step<OfK> step(head, state, set, scale, current, next);
    run_halves(step);
    if (!head.vectors()) {
      barrier();  // what other waves wrote is replaced
      if (OfK) head.columns.copy_rows(0, 1);
      head.rows.copy(0, 2);
    }
    first += kQueries;
  };
  // Two tiles a round, so that sets are constants and products need not be moved. If their number is odd, the last one
  // is all zeros, and no key is attended.
  do {
    advance(0, x, other);
    advance(1, other, x);
  } while (first < rows.end);
}

// dK or dV of the keys. Returns whether it must run again (runs.hpp).
template <bool OfK>
DEVICE bool backward(BackwardArguments& a, char* lds, int run) {
  using M = Matrix<T>;
  const Block block = shared_block(a);
  auto& result = OfK ? a.dk : a.dv;
  if (block.first_row >= block.k.count || result.data == nullptr) return false;
  const int thread = opaque_thread_id(), lane = thread % kWave;
  const int key = block.first_row + uniform(thread / kWave) * kTile + lane % kTile;
  const char* const k_rows = first_row_of(a.k, block.batch, block.k, block.head);
  const char* const v_rows = first_row_of(a.v, block.batch, block.k, block.head);
  State<OfK> state = {};
  typename M::B k[kSteps] = {}, v[kSteps] = {};
  if (key < block.k.count) {
    load_fragments<T>(k_rows + key * a.k.seq, a.problem.head_dim, aligned(k_rows, a.k.seq), M::b_offset(lane), k);
    if (OfK)
      load_fragments<T>(v_rows + key * a.v.seq, a.problem.head_dim_v, aligned(v_rows, a.v.seq), M::b_offset(lane), v);
  }
#pragma unroll
  for (int i = 0; i < kSteps * M::parts; ++i) {
    state.k[i] = M::part(k[i / M::parts], i % M::parts);
    in_accumulators(state.k[i]);  // clang 19 would move it there for each product
    if constexpr (OfK) {
      state.v[i] = M::part(v[i / M::parts], i % M::parts);
      in_accumulators(state.v[i]);
    }
  }
#pragma unroll
  for (int d = 0; d < kDimTiles; ++d) in_accumulators(state.sum[d]);
  if (const Queries rows = queries_of(a.problem, block, block.first_row, kKeys); rows.begin < rows.end) {
    int g = 0;
#pragma nounroll
    do {
      add_head<OfK>(opaque_copy(a), g, run, lds, state);
    } while (++g < opaque_copy(a).problem.group);
  }

  BackwardArguments& again = opaque_copy(a);
  const Block same = shared_block(again);  // again, as scalar registers are few
  auto& to = OfK ? again.dk : again.dv;
  const int own_lane = opaque_thread_id() % kWave;
  const int own_key = same.first_row + uniform(opaque_thread_id() / kWave) * kTile + own_lane % kTile;
  char* const rows = first_row_of(to, same.batch, same.k, same.head);
  if (own_key < same.k.count && (OfK || !is_scaled<T>(run)))
    store_run<T>(run, rows + own_key * to.seq, OfK ? again.problem.head_dim : again.problem.head_dim_v,
                 aligned(rows, to.seq), own_lane, OfK ? again.problem.scale : 1, state.sum);
  return vote<kWaves>(not_finite(state.sum), lds);
}

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(256))) static char lds[kLdsBytes];
  BackwardArguments& a = arguments<BackwardArguments>();
  const Block block = key_block_of(a.problem, a.tiles, kKeys / 2);
  if (block.first_row >= block.k.count) return;
  const bool first = block.first_row % kKeys == 0, alone = first && block.first_row + kKeys / 2 >= block.k.count;
  if (first) run_until_finite<T, backward<true>>(lds);
  if ((!first || alone) && run_until_finite<T, backward<false>>(lds))
    add_infinite_rows<T, false, kKeys, kWaves>(opaque_copy(a), shared_block(opaque_copy(a)));
}
