// Like backward_dq.hip, with the parts of a tile's work interleaved. While the matrix unit computes the next tile's S
// and dP, the vector unit makes this tile's dS. While dQ is computed, the tile after the next goes to LDS. K and V are
// double-buffered there, which takes one barrier a tile. A wave has a SIMD and its 512 registers to itself.
#include "kernels/cdna/attention/backward_dq_core.hpp"
#include "kernels/cdna/tile/double_buffer.hpp"
#include "kernels/cdna/tile/rows_and_columns.hpp"

namespace rapt::amd {

using StagedK = BothWays<T, kHeadDim, kWaves>;
using StagedV = BufferedKeys<T, kHeadDim, kTile, kWaves>;
inline constexpr int kLdsBytes = StagedK::bytes + 2 * StagedV::bytes;
inline constexpr int kStageTasks = 3 * StagedK::kParts + 2 * StagedV::kParts;

struct Pipelined : QuerySchedule {
  State& state;
  StagedK k = over.staged<StagedK>(over.s, 0, 0, pass_of(over.run));
  StagedV v = over.staged<StagedV>(over.dp, StagedK::bytes);
  const float scale = over.scale();
  const bool vectors = k.vectors() && v.vectors();

  DEVICE_MEMBER void begin(Products& x) {
    k.load(0);
    k.load(1);
    v.start();
    barrier();  // no wave reads what an earlier pass left
    k.store_two(vectors);
    v.stage(0);
    v.stage(1);
    barrier();
    multiply_first([&](int i) { return i % 2 == 0 ? k.row_fragment(0, i / 2) : v.fragment(0, 0, i / 2); },
                   state.tiles[0].own, x);
  }

  // What a tile does for later ones, task by task: it writes the next tile's columns to LDS, then the rows of the tile
  // after that, and loads another one.
  DEVICE_MEMBER void stage(int n, int buffer, __amdgpu_buffer_rsrc_t of_k, __amdgpu_buffer_rsrc_t of_v) {
    constexpr int rows = StagedK::kParts, values = rows + StagedK::kParts, load_values = values + StagedV::kParts,
                  load_keys = load_values + StagedV::kParts;
    if (n < rows) k.store_column_part(buffer ^ 1, buffer ^ 1, n);
    else if (n < values) k.store_row_part(buffer, buffer, n - rows);
    else if (n < load_values) v.store_part(buffer, n - values);
    else if (n < load_keys) v.load_part(of_v, n - load_values);
    else k.load_part(of_k, buffer ^ 1, n - load_keys);
  }

  // The tile whose products are in `current` and whose columns are in `buffer`, and the products of the next one, whose
  // rows are in the other buffer.
  template <int>
  DEVICE_MEMBER void turn(int buffer, Products& current, Products& next) {
    M::A fragment[kRowReads + kColumnReads];
    Gradients<T, OwnStatistics> gradients(current, state.statistics, scale);
    const auto of_k = k.next(), of_v = v.next();
    const auto read = [&](int i) {
      if (i >= kRowReads) return k.column_fragment(buffer, (i - kRowReads) % kDimTiles, (i - kRowReads) / kDimTiles);
      return i % 2 == 0 ? k.row_fragment(buffer ^ 1, i / 2) : v.fragment(buffer ^ 1, 0, i / 2);
    };
    multiply_rows(fragment, read, state.tiles[0].own, next, [&](int n) {
      share<gradients.kBothTasks, kRowProducts>(n, [&](int task) { gradients.both(task); });
    });
    multiply_columns<kRowReads>(fragment, read, gradients.ds, state.tiles[0].sums[0], [&](int n) {
      share<kStageTasks, kColumnProducts>(n, [&](int task) { stage(task, buffer, of_k, of_v); });
    });
  }

  DEVICE_MEMBER void end_step(int buffer) {
    if (vectors) return;
    barrier();  // what other waves wrote in this step is replaced
    k.copy_columns(buffer ^ 1, 3);
    k.copy_rows(buffer, 2);
    v.copy(buffer, 2);
  }
};

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(256))) static char lds[kLdsBytes];
  run_until_finite<T, backward_dq<Pipelined>>(lds);
}
