// Like backward_dkv_pipelined.hip, and dQ too: each wave multiplies the step's dS of all waves' keys by the columns of
// K that it keeps, and adds the result to float32 sums in memory. Tiles in LDS have one buffer, so a step has two
// barriers:
//
//   first half   dQ of the last step; S and dP of the next one. Meanwhile P and dS of this one are computed, and its
//                columns of Q and dO go to LDS.
//   second half  dV and dK of this step. Meanwhile its dS goes to LDS, and the rows of the step after the next one.
//
// Products run in rounds of several sums, because a product waits for the one before it where both add to one sum. A
// round's operands are read from LDS a round ahead. So a half's barrier comes before its last round, whose products
// keep the matrix unit busy.
#include "kernels/cdna/attention/backward_dkv_core.hpp"
#include "kernels/cdna/tile/dq_across_waves.hpp"
#include "kernels/cdna/tile/rows_and_columns.hpp"

namespace rapt::amd {

// A wave brings Q and dO to LDS, or one of them.
inline constexpr int kTensors = 2 * kDimTiles / kWaves;
static_assert(kTensors * kWaves == 2 * kDimTiles && kKeyTiles == 1);
using Staged = BothWays<T, kHeadDim, kDimTiles, 1>;
using Fragments = BothWaysFragments<T, kHeadDim, 1>;
using Exchanged = ExchangedGradients<T, kKeys>;
inline constexpr int kStatisticsAt = 2 * Staged::bytes + Exchanged::bytes;  // in LDS
inline constexpr int kLdsBytes = kStatisticsAt + kWaves * StagedStatistics<T>::bytes;

inline constexpr int kFirstRounds = kSteps, kRounds = kFirstRounds + 2 * kParts<T>;
static_assert(Exchanged::kSteps * kDimTiles == kSteps * kWaves);  // waves that have the same slice of K share the keys
struct Operands {
  M::A of[4];  // of as many sums at most
};

constexpr int sums_of_round(int round) { return round < kFirstRounds ? 3 : kDimTiles; }
constexpr int products_before(int round) {
  const int second = round > kFirstRounds ? round - kFirstRounds : 0;
  return ((round - second) * 3 + second * kDimTiles) * M::parts;
}

struct Fused : KeySchedule {
  struct State : WaveState<ColumnStatistics, 1, 2> {
    M::Part columns[kOwnParts];  // of K: the lane's dimension of all keys
    Tile dq;                     // of the last step
    Operands ahead;              // of this step's first round
  };
  static constexpr bool kExcludesMissingKeys = true;  // their dS meets their zeros of K, and may be infinite

  State& state;
  Staged own, other;  // tensors that this wave brings to LDS: both, or its own
  Fragments q, dout;
  StagedStatistics<T> source;
  Exchanged ds;
  DqSums<T, kHeadDim> sums;
  const float scale;
  const bool vectors = own.vectors() && other.vectors();
  __amdgpu_buffer_rsrc_t of_own, of_other, of_sums;  // of a step's loads, made in the step before; of what it adds to

  DEVICE_MEMBER Fused(const Stepped& over, State& state)
      : Fused(over, state, over.thread % kWave, uniform(over.thread / kWave)) {}

  DEVICE void load_keys(BackwardArguments& a, const Block& block, char* lds, State& state) {
    const Keys keys = {block.first_row, min(block.first_row + kKeys, block.k.count), 0, 0};
    load_columns<T, kHeadDim, kWaves>(first_row_of(a.k, block.batch, block.k, block.head), a.k.seq, a.problem.head_dim,
                                      keys, lds, state.columns);
  }

  DEVICE_MEMBER void wait() const {}  // a step's barriers are before its halves' last rounds

  DEVICE_MEMBER void begin(Products& x) {
    for (int set = 0; set < 2; ++set) each_staged([&](Staged& t) { t.load(set); });
    source.load();
    store_first_rows(0);
    ds.clear<kWaves * kWave>(opaque_thread_id());  // the first step makes dQ of it
    source.store();
#pragma unroll
    for (int part = 0; part < kRegisters / 4; ++part) source.read(part, state.statistics);
    multiply_first([&](int i) { return (i % 2 == 0 ? q : dout).row_fragment(0, i / 2); }, state.tiles[0].own, x);
    store_first_rows(1);
    for (int i = 0; i < sums_of_round(0); ++i) state.ahead.of[i] = read(0, i);
    of_own = own.next();
    if (kTensors == 2) of_other = other.next();
  }

  // The step whose S and dP are in `current`, and S and dP of the next one. `set` is of registers with the step's
  // blocks of Q and dO.
  template <int>
  DEVICE_MEMBER void turn(int set, Products& current, Products& next) {
    Operands operands[kRounds + 1];
    operands[0] = state.ahead;
    Weights weights(current, state.statistics, scale);
    fence();
    unrolled<0, kRounds>([&](auto number) {
      constexpr int round = decltype(number)::value, count = sums_of_round(round), after = (round + 1) % kRounds;
      constexpr int reads = sums_of_round(after), early = min(reads, count * M::parts);
      if (after == kFirstRounds || after == 0) {
        if (__builtin_expect(!vectors, false)) {
          barrier();  // what other waves wrote is replaced
          each_staged([&](Staged& t) {
            if (after == 0) t.copy_rows(0, 2);
            else t.copy_columns(0, 3);
          });
        }
        barrier();
      }
#pragma unroll
      for (int n = 0; n < count * M::parts; ++n) {
        const int i = n % count, part = n / count;
        multiply(weights, next, M::part(operands[round].of[i], part), round, i, part);
        if (n < early) share<reads, early>(n, [&](int j) { operands[round + 1].of[j] = read(after, j); });
        work_after(products_before(round) + n, set, weights);
        fence();
      }
    });
    state.ahead = operands[kRounds];
  }

  // dQ of the last step.
  DEVICE_MEMBER void finish() {
    const auto tile = sums.last();
#pragma unroll
    for (int n = 0; n < kOwnParts; ++n) {
      const M::A a = n < M::parts ? state.ahead.of[0] : ds.fragment(n / M::parts);
      M::multiply_to_vector(M::part(a, n % M::parts), state.columns[n], state.dq, n == 0);
    }
    settle(state.dq);
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) sums.add(tile, state.dq, r);
  }

 private:
  using Weights = Gradients<T, ColumnStatistics, true>;

  DEVICE_MEMBER Fused(const Stepped& over, State& state, int lane, int wave)
      : state(state),
        own(staged(over, own_is_dout(wave))),
        other(staged(over, !own_is_dout(wave))),
        q(over.lds, lane),
        dout(over.lds + Staged::bytes, lane),
        source(over.statistics(), over.range, over.lds + kStatisticsAt + wave * StagedStatistics<T>::bytes, lane),
        ds(over.lds + 2 * Staged::bytes, lane, wave * kTile + lane % kTile, wave / kDimTiles * kSteps),
        sums(sums_of(over.a, over.block.batch, over.block.q, over.block.head), over.range, over.run == kFirstRun, lane,
             wave % kDimTiles),
        scale(over.scale()) {}

  DEVICE bool own_is_dout(int wave) { return kTensors == 1 && wave >= kDimTiles; }
  DEVICE Staged staged(Stepped over, bool of_dout) {
    over.thread %= kDimTiles * kWave;
    return over.staged<Staged>(of_dout ? over.dp : over.s, of_dout ? Staged::bytes : 0, 0, pass_of(over.run));
  }

  template <class F>
  DEVICE_MEMBER void each_staged(F f) {
    f(own);
    if (kTensors == 2) f(other);
  }
  DEVICE_MEMBER void store_first_rows(int set) {
    barrier();  // no wave reads what was there
    each_staged([&](Staged& t) { t.store_rows(set, 0); });
    if (!vectors) {
      barrier();
      each_staged([&](Staged& t) { t.copy_rows(0, 2 - set); });
    }
    barrier();
  }

  // Operand A of number `i` of a round's sums.
  DEVICE_MEMBER M::A read(int round, int i) const {
    if (round < kFirstRounds) return i == 0 ? ds.fragment(round) : (i == 1 ? q : dout).row_fragment(0, round);
    const int n = round - kFirstRounds;
    return (n < kParts<T> ? dout : q).column_fragment(0, i, n % kParts<T>);
  }

  // The product of a round's operand A number `i`, part `part` of it.
  DEVICE_MEMBER void multiply(const Weights& weights, Products& next, M::Part a, int round, int i, int part) {
    const int n = round * M::parts + part, second = round - kFirstRounds;
    auto& keys = state.tiles[0];
    if (round < kFirstRounds) {
      if (i == 0) M::multiply_to_vector(a, state.columns[n], state.dq, n == 0);
      else if (i == 1) M::multiply_to_vector(a, keys.own.s[n], next.s, n == 0);
      else M::multiply_to_vector(a, keys.own.dp[n], next.dp, n == 0);
    } else {
      const bool of_dv = second < kParts<T>;
      Tile& sum = keys.sums[of_dv ? kDv : kDk][i];
      sum = M::multiply_one(a, M::part(of_dv ? weights.p[second] : weights.ds[second - kParts<T>], part), sum);
    }
  }

  // A step's other work that comes after product n, of `first` products in the first half and `all` in both.
  DEVICE_MEMBER void work_after(int n, int set, Weights& weights) {
    constexpr int first = products_before(kFirstRounds), all = products_before(kRounds), second = all - first;
    constexpr int quarter = first + second / 4, middle = first + second / 2, last_round = first + second * 3 / 4;
    constexpr int parts = kTensors * Staged::kParts, exponents = first * 5 / 8;
    const auto of = [&](int i) -> Staged& { return i < Staged::kParts ? own : other; };
    share_from<parts, 0, first / 4>(n, [&](int i) { of(i).store_column_part(set, 0, i % Staged::kParts); });
    share_from<parts, first / 4, first / 2>(
        n, [&](int i) { of(i).load_part(i < Staged::kParts ? of_own : of_other, set, i % Staged::kParts); });
    share_from<Weights::kTasks, 0, exponents>(n, [&](int i) { weights.probability(i); });
    share_from<Weights::kTasks, exponents, quarter>(n, [&](int i) { weights.gradient(i); });
    if (n == exponents) source.load();
    if (n == first) of_sums = sums.last();
    if (n == quarter) of_own = own.next();
    if (n == middle && kTensors == 2) of_other = other.next();
    share_from<kRegisters, quarter, last_round>(n, [&](int r) { ds.store(r, weights.ds[r / 8][r % 8 / 2]); });
    share_from<parts, quarter, last_round>(n, [&](int i) { of(i).store_row_part(set, 0, i % Staged::kParts); });
    if (n == last_round - 2) source.store();
    share_from<kRegisters / 4, last_round, all>(n, [&](int part) { source.read(part, state.statistics); });
    share_from<kRegisters, middle, all>(n, [&](int r) { sums.add(of_sums, state.dq, r); });
  }
};

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(256))) static char lds[kLdsBytes];
  run_backward_dkv<Fused>(lds);  // runs after the first add nothing to dQ
}
