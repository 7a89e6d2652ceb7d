// Computes rows once more if their result has an Inf or NaN that may come from a key they do not attend
// (not_finite.hpp). It uses mma.sync and reads global memory: that takes long, but needs no shared memory. It runs when
// the pipeline has ended, because it would take registers from the pipeline.
#pragma once

#include "kernels/hopper/attention/turns.hpp"
#include "kernels/hopper/tile/fragments.hpp"
#include "kernels/nvidia/attention/attend.hpp"

namespace rapt::nvidia {

inline constexpr int kAgainDims = 32;

// Rows of a tensor. Rows from `rows` on, and elements from `dims` on, an even number, do not exist and count as 0.
template <class T>
struct RowsInMemory {
  using element = typename T::element;
  const char* data;  // row 0
  int64_t seq;
  int rows, dims;

  DEVICE_MEMBER element at(int row, int dim) const {
    return row < rows && dim < dims ? reinterpret_cast<const element*>(data + row * seq)[dim] : element{0};
  }
  DEVICE_MEMBER uint32_t neighbours(int row, int dim) const {
    return row < rows && dim < dims ? *reinterpret_cast<const uint32_t*>(data + row * seq + dim * 2) : 0;
  }
  // 16 rows and elements, a lane's part.
  DEVICE_MEMBER Fragment operand_a(int row, int dim, int lane) const {
    const int r = row + lane / 4, d = dim + 2 * (lane % 4);
    return {{neighbours(r, d), neighbours(r + 8, d), neighbours(r, d + 8), neighbours(r + 8, d + 8)}};
  }
};

// O of kAgainDims of v's columns of a warp's rows, in one of the later passes. Finite results stay.
template <class T>
DEVICE void run_pass(const rapt_forward_args& a, const Block& block, int pass, int first_row, int first_dim, int lane) {
  constexpr int kStepKeys = 16, kDimTiles = kAgainDims / 8;
  const auto rows_of = [&](const rapt_abi_rows& rows, const Span& span, int head, int dims) {
    return RowsInMemory<T>{first_row_of(rows, block.batch, span, head), rows.seq, span.count, dims};
  };
  const int head_k = block.head / a.problem.group;
  const RowsInMemory<T> q = rows_of(a.q, block.q, block.head, a.problem.head_dim);
  const RowsInMemory<T> k = rows_of(a.k, block.k, head_k, a.problem.head_dim);
  const RowsInMemory<T> v = rows_of(a.v, block.k, head_k, a.problem.head_dim_v);
  const Keys keys = keys_of(a.problem, block, first_row, kWarpRows);
  TileC o[1][kDimTiles] = {};
  Softmax<T, false> softmax[1][2] = {};
  softmax[0][1] = Softmax<T, false>();  // which nvcc 13.5 leaves out
#pragma unroll 1
  for (int key = keys.begin / kStepKeys * kStepKeys; key < keys.end; key += kStepKeys) {
    TileC s[1][2] = {};
#pragma unroll 1
    for (int dim = 0; dim < q.dims; dim += 16) {
      const Fragment rows = q.operand_a(first_row, dim, lane), b = k.operand_a(key, dim, lane);
      multiply(s[0][0], rows, b.x[0], b.x[2], T());
      multiply(s[0][1], rows, b.x[1], b.x[3], T());
    }
    Rounded<T, 1, 2> p;
    const auto row_of = [&](int row) { return ResultRow{block, query_of(a.problem, block, first_row + row)}; };
    probabilities<T, false, 2>(a.problem, pass, true, row_of, key, lane, s, softmax, o, p);
    const Fragment weights = operand_of<T, 1, 2>(p, 0, 0);
    const auto value = [&](int row, int dim) {
      return uint32_t{T::round(replaced<false>(pass, T::to_float(v.at(key + row, first_dim + dim))))};
    };
    const auto two_values = [&](int row, int dim) { return value(row, dim) | value(row + 1, dim) << 16; };
#pragma unroll
    for (int n = 0; n < kDimTiles; ++n) {
      const int row = 2 * (lane % 4), dim = n * 8 + lane / 4;
      multiply(o[0][n], weights, two_values(row, dim), two_values(row + 8, dim), T());
    }
  }
  char* const out =
      first_row_of(a.out, block.batch, block.q, block.head) + first_dim * static_cast<int>(sizeof(typename T::element));
  for_rows<1>([&](int m, int half) {
    const int row = first_row + row_in_wave(m, half, lane);
    const float factor = softmax[m][half].finish(sink_of<false>(a.problem, block));
    if (row >= block.q.count) return;
    const int dims = v.dims - first_dim;
    if (pass >= kAbove) add_where_weighted<T>(out + row * a.out.seq, dims, added<false>(pass), o[m], half, lane);
    else replace_not_finite<T>(out + row * a.out.seq, dims, o[m], half, lane, factor);
  });
}

// Whether the warp's rows of the result are finite.
template <class T>
DEVICE bool result_is_finite(const rapt_forward_args& a, const Block& block, int first_row, int lane) {
  const char* const out = first_row_of(a.out, block.batch, block.q, block.head);
  float zero = 0;  // 0 times each element
#pragma unroll 1
  for (int row = first_row; row < min(first_row + kWarpRows, block.q.count); ++row)
#pragma unroll 1
    for (int dim = lane; dim < a.problem.head_dim_v; dim += kWave)
      zero += 0 * T::to_float(reinterpret_cast<const typename T::element*>(out + row * a.out.seq)[dim]);
  return !any_lane(zero != zero);
}

// Looks at the rows that this warp has stored, of all the workgroup's tiles. They begin at row `first_row` of each tile
// of `Rows` rows.
template <class T, int Rows>
DEVICE void run_again(const rapt_hopper_forward_args& arguments, int first_row) {
  const rapt_forward_args& a = arguments.forward;
  const int lane = thread_id() % kWave;
  Turns turns(arguments.turns, workgroup_id(), workgroups());
  wave_barrier();  // the lanes have stored their parts of the rows
#pragma unroll 1
  for (QueryTile turn = turns.next(); turn.head >= 0; turn = turns.next()) {
    const int heads = a.problem.heads_q;
    const Block block = unpacked_block(a.problem, turn.head % heads, turn.head / heads, turn.tile * Rows);
    const int row = block.first_row + first_row;
    if (result_is_finite<T>(a, block, row, lane)) continue;
#pragma unroll 1
    for (int dim = 0; dim < a.problem.head_dim_v; dim += kAgainDims)
#pragma unroll 1
      for (int pass = kFinite; pass <= kBelow; ++pass) run_pass<T>(a, block, pass, row, dim, lane);
  }
}

}  // namespace rapt::nvidia
