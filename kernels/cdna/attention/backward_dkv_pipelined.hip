// Like backward_dkv.hip, with the parts of a step's work interleaved: while the matrix unit computes the next step's S
// and dP, the vector unit makes P of this step's; while dV is computed, dS; while dK is, the step after the next goes
// to LDS. Q and dO are double-buffered there, which takes one barrier a step.
//
// A wave has a SIMD and its 512 registers to itself: dK, dV, its keys' K and V, and the S and dP of two tiles. Where it
// has several tiles of keys (RAPT_QUERY_TILES), they take turns in each step, and the next turn is the next tile's.
#include "kernels/amd/attention/attend.hpp"
#include "kernels/cdna/tile/rows_and_columns.hpp"
#include "kernels/cdna/tile/schedule.hpp"
#include "kernels/cdna/tile/statistics.hpp"
#include "kernels/common/infinite_rows.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K, kWaves = RAPT_WAVES;
inline constexpr int kKeyTiles = RAPT_QUERY_TILES, kWaveKeys = kKeyTiles * kTile, kKeys = kWaves * kWaveKeys;
inline constexpr int kSteps = kHeadDim / M::step, kDimTiles = kHeadDim / kTile;
static_assert(!RAPT_GENERAL && kQueries == kTile);
using Staged = BothWays<T, kHeadDim, kWaves>;
using Statistics = RowStatistics<T>;
inline constexpr int kLdsBytes = 2 * Staged::bytes;
inline constexpr int kSides = 2;                                                                 // S and dP, dV and dK
inline constexpr int kReadsA = kSides * kSteps, kReadsB = kSides * kParts<T> * kDimTiles;        // fragments of a turn
inline constexpr int kProductsA = kReadsA * M::parts, kProductsB = kReadsB / kSides * M::parts;  // of S and dP; of dV
inline constexpr int kAhead = 4;  // fragments read from LDS before the product that needs them
// An element each, and after two of them their packing.
inline constexpr int kElementTasks = kRegisters + kRegisters / 2;

static_assert(kKeyTiles <= 2);
struct Products {
  Tile s, dp;
};

// One wave's state.
struct State {
  struct OfKeys {
    M::Part k[kSteps * M::parts], v[kSteps * M::parts];  // of the lane's key
    Tile dk[kDimTiles], dv[kDimTiles];
  } tiles[kKeyTiles];
  Statistics statistics;  // of this step's queries
};

// What a workgroup reads of one head of q.
struct Head {
  Staged q, dout;
  StatisticsRows<T> statistics;
};

// This step's P and dS, and both as operands.
struct Gradients {
  Products& x;
  const Statistics& rows;
  float scale;
  M::B p[kParts<T>], ds[kParts<T>];

  // Element by element, and after two of them their packing.
  DEVICE_MEMBER void probability(int task) {
    const int pair = task / 3, r = 2 * pair + task % 3;
    if (task % 3 < 2) x.s[r] = exp2(__builtin_fmaf(x.s[r], scale, rows.lse(r) * -kLog2e));
    else p[pair / 4][pair % 4] = T::pack_p(x.s[2 * pair], x.s[2 * pair + 1]);
  }
  DEVICE_MEMBER void gradient(int task) {
    const int pair = task / 3, r = 2 * pair + task % 3;
    if (task % 3 < 2) x.dp[r] = x.s[r] * (x.dp[r] - rows.delta(r));
    else ds[pair / 4][pair % 4] = T::pack_p(x.dp[2 * pair], x.dp[2 * pair + 1]);
  }
};

// Makes P and dS 0 for the queries of a step that do not attend the lane's key: all but [begin, begin + count). Adds to
// the lse of the others.
DEVICE void exclude(int begin, int count, int half, float added, Products& x, Statistics& rows) {
  const auto size = static_cast<uint32_t>(max(count, 0));
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    const bool attends = static_cast<uint32_t>(M::element(r, half) - begin) < size && x.s[r] != kMasked;
    x.s[r] = attends ? x.s[r] : 0;
    x.dp[r] = attends ? x.dp[r] : 0;
    rows.set(r, attends ? rows.lse(r) + added : __builtin_inff(), attends ? rows.delta(r) : 0);
  }
}

// What a step does for the ones after it, part by part: the columns of the next step to LDS; loads of its statistics in
// place of those that are done with; the rows of the step after that to LDS; the loads of another one.
struct Stage {
  static constexpr int kParts = Staged::kParts;

  Head& head;
  State& state;
  int buffer;
  __amdgpu_buffer_rsrc_t q, dout, of_statistics;

  DEVICE_MEMBER Stage(Head& head, State& state, int buffer) : head(head), state(state), buffer(buffer) {}

  DEVICE_MEMBER void columns(int n) {
    if (n < kParts) head.q.store_column_part(buffer ^ 1, buffer ^ 1, n);
    else head.dout.store_column_part(buffer ^ 1, buffer ^ 1, n - kParts);
  }
  DEVICE_MEMBER void begin_loads() {
    q = head.q.next();
    dout = head.dout.next();
    of_statistics = head.statistics.next();
  }
  DEVICE_MEMBER void statistics(int n) { head.statistics.load_part(of_statistics, n, state.statistics); }
  DEVICE_MEMBER void rows_and_loads(int n) {
    if (n < kParts) head.q.store_row_part(buffer, buffer, n);
    else if (n < 2 * kParts) head.dout.store_row_part(buffer, buffer, n - kParts);
    else if (n < 3 * kParts) head.q.load_part(q, buffer ^ 1, n - 2 * kParts);
    else head.dout.load_part(dout, buffer ^ 1, n - 3 * kParts);
  }
};

// A tile of keys' turn in the step whose columns are in `buffer`: its products are in `current`. And the products of
// the next turn, whose rows are in the same buffer, or, if it is the next step's, in the other one.
template <int KeyTile>
DEVICE void turn(Head& head, State& state, int buffer, float scale, Products& current, Products& next) {
  constexpr bool first = KeyTile == 0, last = KeyTile == kKeyTiles - 1;
  State::OfKeys &own = state.tiles[KeyTile], &other = state.tiles[last ? 0 : KeyTile + 1];
  M::A fragment[kReadsA + kReadsB];
  const auto read = [&](int i) {
    if (i >= kReadsA + kReadsB) return;
    if (i < kReadsA) {
      fragment[i] = (i % kSides == 0 ? head.q : head.dout).row_fragment(buffer ^ last, i / kSides);
    } else {
      const int j = i - kReadsA, of_dk = j / (kReadsB / kSides), n = j % (kReadsB / kSides);
      fragment[i] = (of_dk ? head.q : head.dout).column_fragment(buffer, n % kDimTiles, n / kDimTiles);
    }
  };
  Gradients gradients = {current, state.statistics, scale, {}, {}};
#pragma unroll
  for (int i = 0; i < kAhead; ++i) read(i);
  Stage stage(head, state, buffer);
  if (last) stage.begin_loads();
  fence();

  unrolled<0, kProductsA>([&](auto product) {
    constexpr int n = product.value, i = n / M::parts, part = i / kSides * M::parts + n % M::parts;
    if (n % M::parts == 0) read(i + kAhead);
    M::multiply_to_vector(M::part(fragment[i], n % M::parts), i % kSides == 0 ? other.k[part] : other.v[part],
                          i % kSides == 0 ? next.s : next.dp, part == 0);
    share<kElementTasks, kProductsA>(n, [&](int task) { gradients.probability(task); });
    fence();
  });
  unrolled<0, kProductsB>([&](auto product) {
    constexpr int n = product.value, i = n / M::parts, part = i / kDimTiles;
    if (n % M::parts == 0) read(kReadsA + i + kAhead);
    own.dv[i % kDimTiles] = M::multiply_one(M::part(fragment[kReadsA + i], n % M::parts),
                                            M::part(gradients.p[part], n % M::parts), own.dv[i % kDimTiles]);
    share<kElementTasks, kProductsB>(n, [&](int task) { gradients.gradient(task); });
    if (first) share<2 * Stage::kParts, kProductsB>(n, [&](int j) { stage.columns(j); });
    if (last) share<Statistics::kLoads, kProductsB>(n, [&](int j) { stage.statistics(j); });
    fence();
  });
  unrolled<0, kProductsB>([&](auto product) {
    constexpr int n = product.value, i = n / M::parts, part = i / kDimTiles;
    if (n % M::parts == 0) read(kReadsA + kReadsB / kSides + i + kAhead);
    own.dk[i % kDimTiles] = M::multiply_one(M::part(fragment[kReadsA + kReadsB / kSides + i], n % M::parts),
                                            M::part(gradients.ds[part], n % M::parts), own.dk[i % kDimTiles]);
    if (last) share<4 * Stage::kParts, kProductsB>(n, [&](int j) { stage.rows_and_loads(j); });
    fence();
  });
}

// Adds what the queries of one head of q contribute, number `of_group` of those that share the head of k. The block is
// computed again for each: keeping it would take scalar registers that the loop needs. Some query must attend a key.
DEVICE void add_head(BackwardArguments& a, int of_group, int run, char* lds, State& state) {
  Block block = key_block_of(a.problem, a.tiles, kKeys);
  block.head = block.head * a.problem.group + of_group;
  const int thread = opaque_thread_id(), half = thread % kWave / kTile;
  const int first_key = block.first_row + uniform(thread / kWave) * kWaveKeys;
  const Queries rows = queries_of(a.problem, block, block.first_row, kKeys);  // of the workgroup
  Queries own[kKeyTiles], attending[kKeyTiles];                               // of a tile of keys, of the lane's key
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) {
    own[t] = queries_of(a.problem, block, first_key + t * kTile, kTile);
    attending[t] = queries_of(a.problem, block, first_key + t * kTile + thread % kTile, 1);
  }
  int first = rows.begin;
  const Keys range = {rows.begin, rows.end, 0, 0};
  const float scale = a.problem.scale_log2;
  Head head = {Staged(first_row_of(a.q, block.batch, block.q, block.head), a.q.seq, a.problem.head_dim, range, lds,
                      thread, 0, pass_of(run)),
               Staged(first_row_of(a.dout, block.batch, block.q, block.head), a.dout.seq, a.problem.head_dim_v, range,
                      lds + Staged::bytes, thread, kWaves - kHeadDim / kTile, pass_of(run)),
               StatisticsRows<T>(statistics_of(a, block.batch, block.q, block.head), range, thread % kWave)};
  const bool vectors = head.q.vectors() && head.dout.vectors();

  head.q.load(0);
  head.dout.load(0);
  head.q.load(1);
  head.dout.load(1);
  head.statistics.load(state.statistics);
  barrier();  // no wave reads what an earlier head left
  const auto store_two = [&](Staged& x) {
    x.store_rows(0, 0);
    x.store_columns(0, 0);
    x.store_rows(1, 1);
    if (!vectors) {
      barrier();
      x.copy_rows(0, 2);
      x.copy_columns(0, 2);
      x.copy_rows(1, 1);
    }
    x.load(0);
  };
  store_two(head.q);
  store_two(head.dout);
  barrier();
  Products x, other;
#pragma unroll
  for (int i = 0; i < kSteps * M::parts; ++i) {
    const M::A q = head.q.row_fragment(0, i / M::parts), dout = head.dout.row_fragment(0, i / M::parts);
    M::multiply_to_vector(M::part(q, i % M::parts), state.tiles[0].k[i], x.s, i == 0);
    M::multiply_to_vector(M::part(dout, i % M::parts), state.tiles[0].v[i], x.dp, i == 0);
  }
  settle(x.s);
  settle(x.dp);

  const auto take_turn = [&](auto key_tile, int buffer, Products& current, Products& next) {
    constexpr int t = decltype(key_tile)::value;
    if constexpr (t < kKeyTiles) {
      barrier();
      const bool edge = run != kFirstRun || first < own[t].full_begin || first + kQueries > own[t].full_end;
      if (edge)
        exclude(attending[t].begin - first, attending[t].end - attending[t].begin, half, added_to_lse<T>(run), current,
                state.statistics);
      turn<t>(head, state, buffer, scale, current, next);
      if (edge && t + 1 < kKeyTiles) head.statistics.load_again(state.statistics);  // the other tile's keys have others
    }
  };
  const auto end_step = [&](int buffer) {
    if (!vectors) {
      barrier();  // what other waves wrote in this step is replaced
      head.q.copy_columns(buffer ^ 1, 3);
      head.dout.copy_columns(buffer ^ 1, 3);
      head.q.copy_rows(buffer, 2);
      head.dout.copy_rows(buffer, 2);
    }
    first += kQueries;
  };
  // Two steps a round, so that buffers are constants and products need not be moved. If their number is odd, the last
  // one is all zeros, and no key is attended.
  do {
#pragma unroll
    for (int buffer = 0; buffer < 2; ++buffer) {
      const bool swapped = kKeyTiles == 1 && buffer == 1;
      take_turn(Number<0>{}, buffer, swapped ? other : x, swapped ? x : other);
      take_turn(Number<1>{}, buffer, other, x);
      end_step(buffer);
    }
  } while (first < rows.end);
}

DEVICE void store(BackwardArguments& a, int run, const State& state) {
  const Block block = key_block_of(a.problem, a.tiles, kKeys);
  const int thread = opaque_thread_id(), lane = thread % kWave;
  char* const dk_rows = first_row_of(a.dk, block.batch, block.k, block.head);
  char* const dv_rows = first_row_of(a.dv, block.batch, block.k, block.head);
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) {
    const int key = block.first_row + uniform(thread / kWave) * kWaveKeys + t * kTile + lane % kTile;
    if (key >= block.k.count) return;
    if (a.dk.data != nullptr)
      store_run<T>(run, dk_rows + key * a.dk.seq, a.problem.head_dim, aligned(dk_rows, a.dk.seq), lane, a.problem.scale,
                   state.tiles[t].dk);
    if (a.dv.data != nullptr && !is_scaled<T>(run))
      store_result<T>(dv_rows + key * a.dv.seq, a.problem.head_dim_v, aligned(dv_rows, a.dv.seq), lane, 1,
                      state.tiles[t].dv);
  }
}

// Returns whether it must run again (runs.hpp).
DEVICE bool backward_dkv(BackwardArguments& a, char* lds, int run) {
  const Block block = key_block_of(a.problem, a.tiles, kKeys);
  if (block.first_row >= block.k.count) return false;
  const int thread = opaque_thread_id(), lane = thread % kWave;
  const char* const k_rows = first_row_of(a.k, block.batch, block.k, block.head);
  const char* const v_rows = first_row_of(a.v, block.batch, block.k, block.head);
  State state = {};
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) {
    M::B k[kSteps] = {}, v[kSteps] = {};
    const int key = block.first_row + uniform(thread / kWave) * kWaveKeys + t * kTile + lane % kTile;
    if (key < block.k.count) {
      load_fragments<T>(k_rows + key * a.k.seq, a.problem.head_dim, aligned(k_rows, a.k.seq), M::b_offset(lane), k);
      load_fragments<T>(v_rows + key * a.v.seq, a.problem.head_dim_v, aligned(v_rows, a.v.seq), M::b_offset(lane), v);
    }
    State::OfKeys& own = state.tiles[t];
#pragma unroll
    for (int i = 0; i < kSteps * M::parts; ++i) {
      own.k[i] = M::part(k[i / M::parts], i % M::parts);
      own.v[i] = M::part(v[i / M::parts], i % M::parts);
      in_accumulators(own.k[i]), in_accumulators(own.v[i]);  // clang 19 would move them there for each product
    }
#pragma unroll
    for (int d = 0; d < kDimTiles; ++d) in_accumulators(own.dk[d]), in_accumulators(own.dv[d]);
  }
  if (const Queries rows = queries_of(a.problem, block, block.first_row, kKeys); rows.begin < rows.end) {
    int g = 0;
#pragma nounroll
    do {
      add_head(opaque_copy(a), g, run, lds, state);
    } while (++g < opaque_copy(a).problem.group);
  }
  store(opaque_copy(a), run, state);
  bool again = false;
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) again |= not_finite(state.tiles[t].dk) || not_finite(state.tiles[t].dv);
  return vote<kWaves>(again, lds);
}

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(256))) static char lds[kLdsBytes];
  if (!run_until_finite<T, backward_dkv>(lds)) return;
  BackwardArguments& a = opaque_copy(arguments<BackwardArguments>());
  add_infinite_rows<T, false, kKeys, kWaves>(a, key_block_of(a.problem, a.tiles, kKeys));
}
