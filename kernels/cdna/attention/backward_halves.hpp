// A schedule of backward_core.hpp where LDS has room for one tile of each kind. It computes one gradient: dQ or dK,
// which need S and dP, or dV, which needs S alone. `columns` is the tensor that P or dS is multiplied by: K, Q or dO.
// For dQ and dK its rows are multiplied too. `other` is the other tensor: V, dO or Q.
//
// A step has two halves, which end with barriers. The first half multiplies by the next tile's rows, while this tile's
// columns are written to LDS. The second multiplies by this tile's columns, while rows of the tile after the next are
// written. The first barrier comes before its half's last products: the matrix unit works on them while the second
// half's first fragments are read.
#pragma once

#include "kernels/cdna/attention/backward_core.hpp"
#include "kernels/cdna/tile/double_buffer.hpp"
#include "kernels/cdna/tile/rows_and_columns.hpp"

namespace rapt::amd {

template <class Base, bool WithDp, class WaveState, class StatisticsSource>
struct Halves : Base {
  using State = WaveState;
  using Statistics = decltype(State::statistics);
  using Columns = BothWays<T, kHeadDim, kWaves, WithDp ? 1 : 0, 1>;
  using Rows = BufferedKeys<T, kHeadDim, kTile, kWaves>;
  static constexpr int kLdsBytes = Columns::bytes + Rows::bytes;
  static constexpr int kSides = WithDp ? 2 : 1;
  static constexpr int kReads = kSides * kSteps, kFirst = kReads * M::parts, kSecond = kColumnProducts;
  static constexpr int kRowTasks = (WithDp ? Columns::kParts : 0) + 2 * Rows::kParts;

  State& state;
  Columns columns;
  Rows other;
  StatisticsSource source;
  const float scale;
  const bool vectors = columns.vectors() && other.vectors();

  DEVICE_MEMBER Halves(const Base& base, const Stepped& over, State& state, const StatisticsSource& source)
      : Base(base),
        state(state),
        columns(over.staged<Columns>(WithDp ? over.s : over.dp, 0, 0, pass_of(over.run))),
        other(over.staged<Rows>(WithDp ? over.dp : over.s, Columns::bytes)),
        source(source),
        scale(over.scale()) {}

  DEVICE_MEMBER void begin(Products& x) {
    columns.load(0);
    if (WithDp) columns.load(1);
    other.start();
    barrier();  // no wave reads what an earlier pass or head left
    store_first_rows(0);
    source.load(state.statistics);
    barrier();
    multiply_first<kSides>([&](int i) { return row(i); }, state.tiles[0].own, x);
    barrier();
    store_first_rows(1);
  }

  // The tile whose products are in `current`, and whose columns are in set `set` of a lane's registers if it has two.
  template <int>
  DEVICE_MEMBER void turn(int set_of_two, Products& current, Products& next) {
    const int set = WithDp ? set_of_two : 0;
    Gradients<T, Statistics> gradients(current, state.statistics, scale);
    const auto of_columns = columns.next(), of_other = other.next();
    const auto of_statistics = source.next();
    M::A fragment[kReads + kColumnReads];
    const auto read = [&](int i) {
      if (i < kReads) return row(i);
      if (i == kReads) end_first_half();
      return columns.column_fragment(0, (i - kReads) % kDimTiles, (i - kReads) / kDimTiles);
    };
    multiply_rows<kSides>(fragment, read, state.tiles[0].own, next, [&](int n) {
      if constexpr (WithDp) share<gradients.kBothTasks, kFirst>(n, [&](int task) { gradients.both(task); });
      else share<gradients.kTasks, kFirst>(n, [&](int task) { gradients.probability(task); });
      share_from<2 * Columns::kParts, 0, kFirst / 2>(n, [&](int task) {
        if (task < Columns::kParts) columns.store_column_part(set, 0, task);
        else columns.load_part(of_columns, set, task - Columns::kParts);
      });
    });
    multiply_columns<kReads>(fragment, read, WithDp ? gradients.ds : gradients.p, state.tiles[0].sums[0], [&](int n) {
      share_from<Statistics::kLoads, 0, kSecond / 2>(
          n, [&](int task) { source.load_part(of_statistics, task, state.statistics); });
      share_from<kRowTasks, kSecond / 2, kSecond>(n, [&](int task) {
        const int of_other_rows = task - (kRowTasks - 2 * Rows::kParts);
        if (of_other_rows < 0) columns.store_row_part(set, 0, task);
        else if (of_other_rows % 2 == 0) other.store_part(0, of_other_rows / 2);
        else other.load_part(of_other, of_other_rows / 2);
      });
    });
  }

  DEVICE_MEMBER void end_step(int) {
    if (vectors) return;
    barrier();  // what other waves wrote is replaced
    if (WithDp) columns.copy_rows(0, 1);
    other.copy(0, 2);
  }

 private:
  // Fragment `i` of a tile's rows: of S and dP in turn.
  DEVICE_MEMBER M::A row(int i) const {
    if constexpr (WithDp)
      if (i % 2 == 0) return columns.row_fragment(0, i / 2);
    return other.fragment(0, 0, i / kSides);
  }

  DEVICE_MEMBER void store_first_rows(int set) {
    if (WithDp) columns.store_rows(set, 0);
    other.stage(0);
    if (WithDp && !vectors) {
      barrier();
      columns.copy_rows(0, 2 - set);
    }
  }

  DEVICE_MEMBER void end_first_half() const {
    if (!vectors) {
      barrier();  // what other waves wrote is replaced
      columns.copy_columns(0, WithDp ? 3 : 2);
    }
    barrier();
  }
};

}  // namespace rapt::amd
