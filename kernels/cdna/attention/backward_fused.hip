// Like backward_dkv_pipelined.hip, and dQ too: each wave multiplies the step's dS of all waves' keys by the columns of
// K that it keeps, and adds the result to float32 sums in memory. Two barriers a step, since tiles in LDS have one
// buffer:
//
//   first half   dQ of the last step; S and dP of the next one. Meanwhile P and dS of this one are computed, and its
//                columns of Q and dO go to LDS.
//   second half  dV and dK of this step. Meanwhile its dS goes to LDS, and the rows of the step after the next one.
//
// Products run in rounds of several sums, because a product that adds to the sum of the one before it waits. A round's
// operands are read from LDS a round ahead: so a barrier comes before a half's last round, which keeps the matrix unit
// busy meanwhile.
#include "kernels/amd/attention/attend.hpp"
#include "kernels/cdna/tile/dq_across_waves.hpp"
#include "kernels/cdna/tile/schedule.hpp"
#include "kernels/cdna/tile/rows_and_columns.hpp"
#include "kernels/cdna/tile/statistics.hpp"
#include "kernels/common/infinite_rows.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kQueries = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kKeys = kWaves * kTile;
inline constexpr int kSteps = kHeadDim / M::step, kDimTiles = kHeadDim / kTile;
static_assert(!RAPT_GENERAL && kQueries == kTile);
// A wave brings Q and dO to LDS, or one of them.
inline constexpr int kTensors = 2 * kDimTiles / kWaves;
static_assert(kTensors * kWaves == 2 * kDimTiles);
using Staged = BothWays<T, kHeadDim, kDimTiles, 1>;
using Fragments = BothWaysFragments<T, kHeadDim, 1>;
using Exchanged = ExchangedGradients<T, kKeys>;
using Statistics = StagedStatistics<T>;
using Sums = DqSums<T, kHeadDim>;
inline constexpr int kLdsBytes = 2 * Staged::bytes + Exchanged::bytes + kWaves * Statistics::bytes;

inline constexpr int kFirstRounds = kSteps, kSecondRounds = 2 * kParts<T>, kRounds = kFirstRounds + kSecondRounds;
static_assert(Exchanged::kSteps * kDimTiles == kSteps * kWaves);  // waves that have the same slice of K share the keys
inline constexpr int kMostSums = 4, kElementTasks = kRegisters + kRegisters / 2;

constexpr int sums_of_round(int round) { return round < kFirstRounds ? 3 : kDimTiles; }
constexpr int products_before(int round) {
  const int second = round > kFirstRounds ? round - kFirstRounds : 0;
  return ((round - second) * 3 + second * kDimTiles) * M::parts;
}

struct Products {
  Tile s, dp;
};

// One wave's state.
struct State {
  M::Part k[kSteps * M::parts], v[kSteps * M::parts];  // of the lane's key
  M::Part columns[kSteps * M::parts];                  // of K: the lane's dimension of all keys
  Tile dk[kDimTiles], dv[kDimTiles];
  Tile dq;                   // of the last step
  Tile negative_lse, delta;  // of this step's queries
  M::A ahead[kMostSums];     // this step's first fragments
};

// Of what a step loads, made in the step before, and of the sums that it adds to.
struct Descriptors {
  __amdgpu_buffer_rsrc_t own, other, sums;
  DEVICE_MEMBER Descriptors() {}
};

// What a workgroup reads of one head of q, and what it exchanges and adds to there.
struct Head {
  Staged own, other;  // tensors that this wave brings to LDS: both, or its own
  Fragments q, dout;
  Statistics statistics;
  Exchanged ds;
  Sums sums;
  Descriptors of;
};

// Makes P and dS 0 for the queries of a step that do not attend the lane's key: all but [begin, begin + count).
DEVICE void exclude(int begin, int count, int half, float added, Products& x, State& state) {
  const auto size = static_cast<uint32_t>(max(count, 0));
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    const bool attends = static_cast<uint32_t>(M::element(r, half) - begin) < size && x.s[r] != kMasked;
    x.s[r] = attends ? x.s[r] : 0;
    x.dp[r] = attends ? x.dp[r] : 0;
    state.negative_lse[r] = attends ? state.negative_lse[r] - added * kLog2e : kMasked;
    state.delta[r] = attends ? state.delta[r] : 0;
  }
}

// Operand A of number `i` of a round's sums.
DEVICE M::A read(const Head& head, int round, int i) {
  if (round < kFirstRounds)
    return i == 0 ? head.ds.fragment(round) : (i == 1 ? head.q : head.dout).row_fragment(0, round);
  const int n = round - kFirstRounds;
  return (n < kParts<T> ? head.dout : head.q).column_fragment(0, i, n % kParts<T>);
}

// A part of `Count` tasks after product `n`, if that is one of [Begin, End).
template <int Count, int Begin, int End, class F>
DEVICE void deal(int n, F f) {
  if (n >= Begin && n < End) share<Count, End - Begin>(n - Begin, f);
}

// One step's work beside its products.
struct Work {
  Head& head;
  State& state;
  Products& x;
  float scale;
  int set;  // of registers with the step's blocks of Q and dO
  M::B p[kParts<T>], ds[kParts<T>];

  DEVICE_MEMBER Work(Head& head, State& state, Products& x, float scale, int set)
      : head(head), state(state), x(x), scale(scale), set(set) {}

  // Element by element, and after two of them their packing.
  DEVICE_MEMBER void probability(int task) {
    const int pair = task / 3, r = 2 * pair + task % 3;
    if (task % 3 < 2) put(x.s, r, exp2(__builtin_fmaf(x.s[r], scale, state.negative_lse[r])));
    else pack(x.s, pair, p);
  }
  DEVICE_MEMBER void gradient(int task) {
    const int pair = task / 3, r = 2 * pair + task % 3;
    if (task % 3 < 2) put(x.dp, r, x.s[r] * (x.dp[r] - state.delta[r]));
    else pack(x.dp, pair, ds);
  }
  DEVICE_MEMBER static void put(Tile& to, int r, float value) {
    computed_here(value);
    to[r] = value;
  }
  DEVICE_MEMBER static void pack(const Tile& from, int pair, M::B (&to)[kParts<T>]) {
    uint32_t packed = T::pack_p(from[2 * pair], from[2 * pair + 1]);
    computed_here(packed);
    to[pair / 4][pair % 4] = packed;
  }
  DEVICE_MEMBER Staged& staged(int n) { return n < Staged::kParts ? head.own : head.other; }
  DEVICE_MEMBER void columns(int n) { staged(n).store_column_part(set, 0, n % Staged::kParts); }
  DEVICE_MEMBER void load(int n) {
    staged(n).load_part(n < Staged::kParts ? head.of.own : head.of.other, set, n % Staged::kParts);
  }
  DEVICE_MEMBER void rows(int n) { staged(n).store_row_part(set, 0, n % Staged::kParts); }
  DEVICE_MEMBER void exchange(int r) { head.ds.store(r, ds[r / 8][r % 8 / 2]); }

  // What comes after product n, of `first` in the first half and `second` in the second one.
  DEVICE_MEMBER void after(int n) {
    constexpr int first = products_before(kFirstRounds), second = products_before(kRounds) - first;
    constexpr int parts = kTensors * Staged::kParts, last_round = first + second * 3 / 4;
    deal<parts, 0, first / 4>(n, [&](int i) { columns(i); });
    deal<parts, first / 4, first / 2>(n, [&](int i) { load(i); });
    deal<kElementTasks, 0, first * 5 / 8>(n, [&](int i) { probability(i); });
    deal<kElementTasks, first * 5 / 8, first + second / 4>(n, [&](int i) { gradient(i); });
    if (n == first * 5 / 8) head.statistics.load();
    if (n == first) head.of.sums = head.sums.last();
    if (n == first + second / 4) head.of.own = head.own.next();
    if (n == first + second / 2 && kTensors == 2) head.of.other = head.other.next();
    deal<kRegisters, first + second / 4, last_round>(n, [&](int r) { exchange(r); });
    deal<parts, first + second / 4, last_round>(n, [&](int i) { rows(i); });
    if (n == last_round - 2) head.statistics.store();
    deal<kRegisters / 4, last_round, first + second>(
        n, [&](int part) { head.statistics.read(part, state.negative_lse, state.delta); });
    deal<kRegisters, first + second / 2, first + second>(n, [&](int r) { head.sums.add(head.of.sums, state.dq, r); });
  }
};

// The product of a round's operand A number `i`, part `part` of it.
DEVICE void multiply(State& state, const Work& work, Products& next, M::Part a, int round, int i, int part) {
  const int n = round * M::parts + part, second = round - kFirstRounds;
  if (round < kFirstRounds) {
    if (i == 0) M::multiply_to_vector(a, state.columns[n], state.dq, n == 0);
    else if (i == 1) M::multiply_to_vector(a, state.k[n], next.s, n == 0);
    else M::multiply_to_vector(a, state.v[n], next.dp, n == 0);
  } else if (second < kParts<T>) {
    state.dv[i] = M::multiply_one(a, M::part(work.p[second], part), state.dv[i]);
  } else {
    state.dk[i] = M::multiply_one(a, M::part(work.ds[second - kParts<T>], part), state.dk[i]);
  }
}

// Of the tile whose descriptor was made `back` descriptors ago.
DEVICE void copy_rows(Head& head, int back) {
  head.own.copy_rows(0, back);
  if (kTensors == 2) head.other.copy_rows(0, back);
}
DEVICE void copy_columns(Head& head, int back) {
  head.own.copy_columns(0, back);
  if (kTensors == 2) head.other.copy_columns(0, back);
}

// The step whose S and dP are in `current`, and S and dP of the next one.
DEVICE void step(Head& head, State& state, int set, float scale, bool vectors, Products& current, Products& next) {
  M::A fragment[kRounds + 1][kMostSums];
#pragma unroll
  for (int i = 0; i < sums_of_round(0); ++i) fragment[0][i] = state.ahead[i];
  Work work(head, state, current, scale, set);
  fence();
  unrolled<0, kRounds>([&](auto number) {
    constexpr int round = decltype(number)::value, sums = sums_of_round(round), after = (round + 1) % kRounds;
    constexpr int reads = sums_of_round(after), early = min(reads, sums * M::parts);
    if (after == kFirstRounds || after == 0) {
      if (__builtin_expect(!vectors, false)) {
        barrier();  // what other waves wrote is replaced
        if (after == 0) copy_rows(head, 2);
        else copy_columns(head, 3);
      }
      barrier();
    }
#pragma unroll
    for (int n = 0; n < sums * M::parts; ++n) {
      const int i = n % sums, part = n / sums;
      multiply(state, work, next, M::part(fragment[round][i], part), round, i, part);
      if (n < early) share<reads, early>(n, [&](int j) { fragment[round + 1][j] = read(head, after, j); });
      work.after(products_before(round) + n);
      fence();
    }
  });
#pragma unroll
  for (int i = 0; i < sums_of_round(0); ++i) state.ahead[i] = fragment[kRounds][i];
}

// dQ of the last step.
DEVICE void finish(Head& head, State& state) {
  const auto sums = head.sums.last();
#pragma unroll
  for (int round = 0; round < kSteps; ++round) {
    const M::A ds = round == 0 ? state.ahead[0] : head.ds.fragment(round);
#pragma unroll
    for (int part = 0; part < M::parts; ++part) {
      const int n = round * M::parts + part;
      M::multiply_to_vector(M::part(ds, part), state.columns[n], state.dq, n == 0);
    }
  }
  settle(state.dq);
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) head.sums.add(sums, state.dq, r);
}

// Adds what the queries of one head of q contribute, number `of_group` of those that share the head of k, and adds to
// their dQ. The block is computed again for each: keeping it would take scalar registers that the loop needs. Some
// query must attend a key.
DEVICE void add_head(BackwardArguments& a, int of_group, int run, char* lds, State& state) {
  Block block = key_block_of(a.problem, a.tiles, kKeys);
  block.head = block.head * a.problem.group + of_group;
  const int thread = opaque_thread_id(), lane = thread % kWave, half = lane / kTile, wave = uniform(thread / kWave);
  const int first_key = block.first_row + wave * kTile;
  const Queries rows = queries_of(a.problem, block, block.first_row, kKeys);  // of the workgroup
  Queries own = queries_of(a.problem, block, first_key, kTile);
  // The dS of keys that do not exist meets their zeros of K, and may be infinite: it must be excluded.
  if (first_key + kTile > block.k.count) own.full_begin = own.end;
  const Queries attending = queries_of(a.problem, block, first_key + lane % kTile, 1);
  int first = rows.begin;
  const Keys range = {rows.begin, rows.end, 0, 0};
  const float scale = a.problem.scale_log2;
  const auto staged = [&](bool of_dout) {
    const char* const q = first_row_of(a.q, block.batch, block.q, block.head);
    const char* const dout = first_row_of(a.dout, block.batch, block.q, block.head);
    return Staged(of_dout ? dout : q, of_dout ? a.dout.seq : a.q.seq,
                  of_dout ? a.problem.head_dim_v : a.problem.head_dim, range, lds + (of_dout ? Staged::bytes : 0),
                  thread % (kDimTiles * kWave), 0, pass_of(run));
  };
  const bool own_is_dout = kTensors == 1 && wave >= kDimTiles;
  char* const after_tiles = lds + 2 * Staged::bytes;
  Head head = {staged(own_is_dout),
               staged(!own_is_dout),
               Fragments(lds, lane),
               Fragments(lds + Staged::bytes, lane),
               Statistics(statistics_of(a, block.batch, block.q, block.head), range,
                          after_tiles + Exchanged::bytes + wave * Statistics::bytes, lane),
               Exchanged(after_tiles, lane, wave * kTile + lane % kTile, wave / kDimTiles * kSteps),
               Sums(sums_of(a, block.batch, block.q, block.head), rows, run == kFirstRun, lane, wave % kDimTiles),
               {}};
  const bool vectors = head.own.vectors() && head.other.vectors();

  const auto each_staged = [&](auto f) {
    f(head.own);
    if (kTensors == 2) f(head.other);
  };
  for (int set = 0; set < 2; ++set) each_staged([&](Staged& x) { x.load(set); });
  head.statistics.load();
  const auto store = [&](int set) {
    barrier();  // no wave reads what was there
    each_staged([&](Staged& x) { x.store_rows(set, 0); });
    if (!vectors) {
      barrier();
      copy_rows(head, 2 - set);
    }
    barrier();
  };
  store(0);
  head.ds.clear<kWaves * kWave>(thread);  // of which the first step's dQ is made
  Products x, other;
  head.statistics.store();
#pragma unroll
  for (int part = 0; part < kRegisters / 4; ++part) head.statistics.read(part, state.negative_lse, state.delta);
#pragma unroll
  for (int i = 0; i < kSteps * M::parts; ++i) {
    const M::A q = head.q.row_fragment(0, i / M::parts), dout = head.dout.row_fragment(0, i / M::parts);
    M::multiply_to_vector(M::part(q, i % M::parts), state.k[i], x.s, i == 0);
    M::multiply_to_vector(M::part(dout, i % M::parts), state.v[i], x.dp, i == 0);
  }
  settle(x.s);
  settle(x.dp);
  store(1);
#pragma unroll
  for (int i = 0; i < sums_of_round(0); ++i) state.ahead[i] = read(head, 0, i);
  head.of.own = head.own.next();
  if (kTensors == 2) head.of.other = head.other.next();

  const auto advance = [&](int set, Products& current, Products& next) {
    if (__builtin_expect(run != kFirstRun || first < own.full_begin || first + kQueries > own.full_end, false))
      exclude(attending.begin - first, attending.end - attending.begin, half, added_to_lse<T>(run), current, state);
    step(head, state, set, scale, vectors, current, next);
    first += kQueries;
  };
  // Two steps a round, so that products need not be moved. If their number is odd, the last one is all zeros, and no
  // key is attended.
  do {
    advance(0, x, other);
    advance(1, other, x);
  } while (first < rows.end);
  finish(head, state);
}

DEVICE void store(BackwardArguments& a, int run, const State& state) {
  const Block block = key_block_of(a.problem, a.tiles, kKeys);
  const int thread = opaque_thread_id(), lane = thread % kWave;
  const int key = block.first_row + uniform(thread / kWave) * kTile + lane % kTile;
  if (key >= block.k.count) return;
  char* const dk_rows = first_row_of(a.dk, block.batch, block.k, block.head);
  char* const dv_rows = first_row_of(a.dv, block.batch, block.k, block.head);
  if (a.dk.data != nullptr)
    store_run<T>(run, dk_rows + key * a.dk.seq, a.problem.head_dim, aligned(dk_rows, a.dk.seq), lane, a.problem.scale,
                 state.dk);
  if (a.dv.data != nullptr && !is_scaled<T>(run))
    store_result<T>(dv_rows + key * a.dv.seq, a.problem.head_dim_v, aligned(dv_rows, a.dv.seq), lane, 1, state.dv);
}

// Returns whether it must run again (runs.hpp); it then adds nothing to dQ.
DEVICE bool backward_fused(BackwardArguments& a, char* lds, int run) {
  const Block block = key_block_of(a.problem, a.tiles, kKeys);
  if (block.first_row >= block.k.count) return false;
  const int thread = opaque_thread_id(), lane = thread % kWave;
  const char* const k_rows = first_row_of(a.k, block.batch, block.k, block.head);
  const char* const v_rows = first_row_of(a.v, block.batch, block.k, block.head);
  State state = {};
  const Keys keys = {block.first_row, min(block.first_row + kKeys, block.k.count), 0, 0};
  load_columns<T, kHeadDim, kWaves>(k_rows, a.k.seq, a.problem.head_dim, keys, lds, state.columns);
  M::B k[kSteps] = {}, v[kSteps] = {};
  const int key = block.first_row + uniform(thread / kWave) * kTile + lane % kTile;
  if (key < block.k.count) {
    load_fragments<T>(k_rows + key * a.k.seq, a.problem.head_dim, aligned(k_rows, a.k.seq), M::b_offset(lane), k);
    load_fragments<T>(v_rows + key * a.v.seq, a.problem.head_dim_v, aligned(v_rows, a.v.seq), M::b_offset(lane), v);
  }
#pragma unroll
  for (int i = 0; i < kSteps * M::parts; ++i) {
    state.k[i] = M::part(k[i / M::parts], i % M::parts);
    state.v[i] = M::part(v[i / M::parts], i % M::parts);
    in_accumulators(state.k[i]), in_accumulators(state.v[i]);  // clang 19 would move them there for each product
  }
#pragma unroll
  for (int d = 0; d < kDimTiles; ++d) in_accumulators(state.dk[d]), in_accumulators(state.dv[d]);
  if (const Queries rows = queries_of(a.problem, block, block.first_row, kKeys); rows.begin < rows.end) {
    int g = 0;
#pragma nounroll
    do {
      add_head(opaque_copy(a), g, run, lds, state);
    } while (++g < opaque_copy(a).problem.group);
  }
  store(opaque_copy(a), run, state);
  return vote<kWaves>(not_finite(state.dk) || not_finite(state.dv), lds);
}

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(256))) static char lds[kLdsBytes];
  if (!run_until_finite<T, backward_fused>(lds)) return;
  BackwardArguments& a = opaque_copy(arguments<BackwardArguments>());
  add_infinite_rows<T, false, kKeys, kWaves>(a, key_block_of(a.problem, a.tiles, kKeys));
}
