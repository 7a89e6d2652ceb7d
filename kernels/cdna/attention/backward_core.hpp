// The core of CDNA's interleaved backward kernels. Each kernel is a schedule of it.
//
// A lane owns a row: a query in the kernels of dq, a key in the kernels of dk and dv. The loop steps over tiles of the
// other rows. While S and dP of the next tile are multiplied, the vector unit makes P and dS of this one. The loop has
// one body without a branch, because clang 22 cannot keep accumulation registers in place across two bodies. A block
// before the body makes harmless what does not attend (exclude). Where rows cannot be loaded as vectors, a block after
// it replaces what the body wrote to LDS.
#pragma once

#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/cdna/tile/gradients.hpp"
#include "kernels/cdna/tile/schedule.hpp"
#include "kernels/common/huge.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kWaves = RAPT_WAVES;
inline constexpr int kSteps = kHeadDim / M::step, kDimTiles = kHeadDim / kTile, kOwnParts = kSteps * M::parts;
static_assert(!RAPT_GENERAL && RAPT_BLOCK_K == kTile);

// Rows of a tensor, of one head.
struct Tensor {
  const char* rows;
  int64_t seq;
  int dims;

  DEVICE_MEMBER void load(int row, int lane, M::B (&x)[kSteps]) const {
    load_fragments<T>(rows + row * seq, dims, aligned(rows, seq), M::b_offset(lane), x);
  }
};
template <class Rows>
DEVICE Tensor tensor_of(const Rows& rows, const Block& block, const Span& span, int head, int dims) {
  return {first_row_of(rows, block.batch, span, head), rows.seq, dims};
}

// What a workgroup steps over: rows `range` of the tensors whose products with its own rows are S and dP, which are K
// and V, or Q and dO.
struct Stepped {
  BackwardArguments& a;
  Block block;
  int thread, run;
  char* lds;
  Keys range;
  Tensor s, dp;

  // The factor of S before exp2: later runs scale it first (subtract_lse).
  DEVICE_MEMBER float scale() const { return run == kFirstRun ? a.problem.scale_log2 : kLog2e; }
  // What a later run subtracts from the logits of a row of q.
  DEVICE_MEMBER float lse_of(int row) const {
    const float lse = *lse_at(a, block.batch, block.head, block.q, min(row, block.q.count - 1));
    return (lse == -__builtin_inff() ? __builtin_inff() : lse) + added_to_lse<T>(run);
  }
  DEVICE_MEMBER auto statistics() const { return statistics_of(a, block.batch, block.q, block.head); }
  // A tile of one of them in LDS, from byte `at` on.
  template <class Staged, class... More>
  DEVICE_MEMBER Staged staged(const Tensor& tensor, int at, More... more) const {
    return Staged(tensor.rows, tensor.seq, tensor.dims, range, lds + at, thread, more...);
  }
};

// The lane's row of the workgroup's own tensors, as operands B: Q and dO, or K and V.
struct OwnRows {
  M::Part s[kOwnParts], dp[kOwnParts];

  DEVICE void keep(const M::B (&row)[kSteps], M::Part (&to)[kOwnParts]) {
#pragma unroll
    for (int i = 0; i < kOwnParts; ++i) {
      to[i] = M::part(row[i / M::parts], i % M::parts);
      in_accumulators(to[i]);  // clang 19 would move it there for each product
    }
  }
  // Multiplies part `part` of fragment i of a tile's rows: of S, and with two Sides of S and dP in turn.
  template <int Sides>
  DEVICE_MEMBER void multiply(int i, int part, M::Part a, Products& x) const {
    const int n = i / Sides * M::parts + part;
    if (i % Sides == 0) M::multiply_to_vector(a, s[n], x.s, n == 0);
    else M::multiply_to_vector(a, dp[n], x.dp, n == 0);
  }
};

// One wave's state: of each tile of rows that its lanes own, and of the tile that it steps over.
template <class Statistics, int Tiles, int Sums>
struct WaveState {
  struct {
    OwnRows own;
    Tile sums[Sums][kDimTiles];  // dQ, dK or dV, or dK and dV
  } tiles[Tiles];
  Statistics statistics;
};

inline constexpr int kRowReads = 2 * kSteps, kRowProducts = kRowReads * M::parts;  // of S and dP
// The first tile's S and dP. Fragments are not read ahead: gfx908 has no registers for them.
template <int Sides = 2, class Read>
DEVICE void multiply_first(Read read, const OwnRows& own, Products& x) {
#pragma unroll
  for (int i = 0; i < Sides * kSteps; ++i) {
    const M::A fragment = read(i);
#pragma unroll
    for (int part = 0; part < M::parts; ++part) own.multiply<Sides>(i, part, M::part(fragment, part), x);
  }
  settle(x.s);
  if (Sides == 2) settle(x.dp);
}
// The next tile's S and dP, with which a turn begins.
template <int Sides = 2, int All, class Read, class After>
DEVICE void multiply_rows(M::A (&fragment)[All], Read read, const OwnRows& own, Products& x, After after) {
  const auto multiply = [&](auto i, auto part, M::Part a) { own.multiply<Sides>(i.value, part.value, a, x); };
  interleave<M, 0, Sides * kSteps>(fragment, read, multiply, after);
}

// The products of fragments from Begin on with P or dS, which are added to dQ, dK or dV.
inline constexpr int kColumnReads = kParts<T> * kDimTiles, kColumnProducts = kColumnReads * M::parts;
template <int Begin, int All, class Read, class After>
DEVICE void multiply_columns(M::A (&fragment)[All], Read read, const M::B (&weights)[kParts<T>], Tile (&sum)[kDimTiles],
                             After after) {
  const auto multiply = [&](auto i, auto part, M::Part a) {
    Tile& x = sum[i.value % kDimTiles];
    x = M::multiply_one(a, M::part(weights[i.value / kDimTiles], part.value), x);
  };
  interleave<M, Begin, kColumnReads>(fragment, read, multiply, after);
}

// What a schedule may leave out.
struct Schedule {
  DEVICE_MEMBER void wait() const { barrier(); }  // before a turn
  DEVICE_MEMBER void load_rows_again() const {}   // their statistics, which exclude() has changed
  DEVICE_MEMBER void end_step(int) const {}
  DEVICE_MEMBER void finish() const {}
};

// Steps over the rows; there must be some. A lane owns a row in each of Tiles tiles, which take turns: `own` is what
// all rows of a tile attend, `attending` what the lane's row does.
template <class Work, class Range, int Tiles>
DEVICE void run_steps(Work work, const Stepped& over, const Range (&own)[Tiles], const Range (&attending)[Tiles]) {
  static_assert(Tiles <= 2);
  Products x, other;
  work.begin(x);
  int first = over.range.begin;
  const auto take_turn = [&](auto tile, int set, Products& current, Products& next) {
    constexpr int t = decltype(tile)::value;
    work.wait();
    if (__builtin_expect(over.run != kFirstRun, false)) work.prepare(over, first, current);
    fence();  // joined, this block and the next one would copy products
    bool excludes = false;
    if (__builtin_expect(over.run != kFirstRun || first < own[t].full_begin || first + kTile > own[t].full_end,
                         false)) {
      exclude<T>(attending[t].begin - first, attending[t].end - attending[t].begin, over.thread % kWave / kTile,
                 over.run != kFirstRun, current, work.state.statistics);
      excludes = true;
    }
    work.template turn<t>(set, current, next);
    if (excludes && t + 1 < Tiles) work.load_rows_again();  // the other tile excludes others
  };
  // Two steps a round, so that sets are constants and products need not be moved. If their number is odd, the last one
  // is all zeros, and no row is attended.
  do {
#pragma unroll
    for (int set = 0; set < 2; ++set) {
      const bool swapped = Tiles == 1 && set == 1;
      take_turn(Number<0>{}, set, swapped ? other : x, swapped ? x : other);
      if constexpr (Tiles == 2) take_turn(Number<1>{}, set, other, x);
      work.end_step(set);
      first += kTile;
    }
  } while (first < over.range.end);
  work.finish();
}

}  // namespace rapt::amd
