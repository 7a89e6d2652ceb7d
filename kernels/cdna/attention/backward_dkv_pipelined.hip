// Like backward_dkv.hip, with the parts of a step's work interleaved. While the matrix unit computes the next step's S
// and dP, the vector unit makes this step's P. While dV is computed, it makes dS. While dK is computed, the step after
// the next goes to LDS. Q and dO are double-buffered there, which takes one barrier a step.
//
// A wave has a SIMD and its 512 registers to itself: dK, dV, its keys' K and V, and the S and dP of two tiles. Where it
// has several tiles of keys (RAPT_QUERY_TILES), they take turns in each step, and the next turn is the next tile's.
#include "kernels/cdna/attention/backward_dkv_core.hpp"
#include "kernels/cdna/tile/rows_and_columns.hpp"

namespace rapt::amd {

using Staged = BothWays<T, kHeadDim, kWaves>;
inline constexpr int kLdsBytes = 2 * Staged::bytes;

struct Pipelined : KeySchedule {
  using State = WaveState<RowStatistics<T>, kKeyTiles, 2>;
  State& state;
  Staged q, dout;
  StatisticsRows<T> source;
  const float scale;
  const bool vectors = q.vectors() && dout.vectors();

  DEVICE_MEMBER Pipelined(const Stepped& over, State& state)
      : state(state),
        q(over.staged<Staged>(over.s, 0, 0, pass_of(over.run))),
        dout(over.staged<Staged>(over.dp, Staged::bytes, kWaves - kHeadDim / kTile, pass_of(over.run))),
        source(over.statistics(), over.range, over.thread % kWave),
        scale(over.scale()) {}

  DEVICE_MEMBER void load_rows_again() { source.load_again(state.statistics); }

  DEVICE_MEMBER void begin(Products& x) {
    q.load(0);
    dout.load(0);
    q.load(1);
    dout.load(1);
    source.load(state.statistics);
    barrier();  // no wave reads what an earlier head left
    q.store_two(vectors);
    dout.store_two(vectors);
    barrier();
    multiply_first([&](int i) { return (i % 2 == 0 ? q : dout).row_fragment(0, i / 2); }, state.tiles[0].own, x);
  }

  // The turn of a tile of keys: its products are in `current`, and the step's columns in `buffer`. It computes the
  // products of the next turn, whose rows are in the same buffer, or in the other one if it is the next step's. A step
  // also writes the next step's columns to LDS and loads its statistics, when this step's have been read. Then it
  // writes the rows of the step after that, and loads another step's.
  template <int KeyTile>
  DEVICE_MEMBER void turn(int buffer, Products& current, Products& next) {
    constexpr bool first = KeyTile == 0, last = KeyTile == kKeyTiles - 1;
    auto& keys = state.tiles[KeyTile];
    const OwnRows& next_keys = state.tiles[last ? 0 : KeyTile + 1].own;
    M::A fragment[kRowReads + 2 * kColumnReads];
    Gradients<T, RowStatistics<T>> gradients(current, state.statistics, scale);
    __amdgpu_buffer_rsrc_t of_q, of_dout, of_statistics;
    if (last) of_q = q.next(), of_dout = dout.next(), of_statistics = source.next();
    const auto read = [&](int i) {
      if (i < kRowReads) return (i % 2 == 0 ? q : dout).row_fragment(buffer ^ last, i / 2);
      const int n = (i - kRowReads) % kColumnReads;
      return (i < kRowReads + kColumnReads ? dout : q).column_fragment(buffer, n % kDimTiles, n / kDimTiles);
    };
    multiply_rows(fragment, read, next_keys, next, [&](int n) {
      share<gradients.kTasks, kRowProducts>(n, [&](int task) { gradients.probability(task); });
    });
    multiply_columns<kRowReads>(fragment, read, gradients.p, keys.sums[kDv], [&](int n) {
      share<gradients.kTasks, kColumnProducts>(n, [&](int task) { gradients.gradient(task); });
      const auto column = [&](int j) {
        (j < Staged::kParts ? q : dout).store_column_part(buffer ^ 1, buffer ^ 1, j % Staged::kParts);
      };
      if (first) share<2 * Staged::kParts, kColumnProducts>(n, column);
      const auto statistics = [&](int j) { source.load_part(of_statistics, j, state.statistics); };
      if (last) share<RowStatistics<T>::kLoads, kColumnProducts>(n, statistics);
    });
    multiply_columns<kRowReads + kColumnReads>(fragment, read, gradients.ds, keys.sums[kDk], [&](int n) {
      const auto rows_and_loads = [&](int j) {
        if (j < 2 * Staged::kParts) (j < Staged::kParts ? q : dout).store_row_part(buffer, buffer, j % Staged::kParts);
        else if (j < 3 * Staged::kParts) q.load_part(of_q, buffer ^ 1, j % Staged::kParts);
        else dout.load_part(of_dout, buffer ^ 1, j % Staged::kParts);
      };
      if (last) share<4 * Staged::kParts, kColumnProducts>(n, rows_and_loads);
    });
  }

  DEVICE_MEMBER void end_step(int buffer) {
    if (vectors) return;
    barrier();  // what other waves wrote in this step is replaced
    q.copy_columns(buffer ^ 1, 3);
    dout.copy_columns(buffer ^ 1, 3);
    q.copy_rows(buffer, 2);
    dout.copy_rows(buffer, 2);
  }
};

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(256))) static char lds[kLdsBytes];
  run_backward_dkv<Pipelined>(lds);
}
