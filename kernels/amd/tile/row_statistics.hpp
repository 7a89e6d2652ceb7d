// lse and delta of rows: the kernels of dq make them and write them to the workspace, the others read them there.
#pragma once

#include "kernels/amd/tile/products.hpp"
#include "kernels/amd/tile/raised.hpp"
#include "kernels/common/block.hpp"
#include "kernels/common/huge.hpp"

namespace rapt::amd {

// O dO^T of the wave's rows, from `first_row` on of `out`; `dout` is the lane's row, raised as `own` says. Its diagonal
// is delta, the inner products of rows of dout and out. The instruction is the one that computes V dO^T: where a row of
// out is one of V, the two are equal to the last bit. So a query that attends one key has no gradient.
template <class T, class Own, int Steps>
DEVICE Tile row_products(const char* out, int64_t seq, int dims, int first_row, int rows, int lane,
                         const Own (&dout)[Steps], float own) {
  using M = Matrix<T>;
  typename M::A fragments[Steps] = {};
  const int row = first_row + M::unslot(M::a_row(lane));
  if (row < rows) load_fragments<T>(out + row * seq, dims, aligned(out, seq), M::a_offset(lane), fragments);
  const Raised<T> raised = Raised<T>::of(fragments);
  Tile products[1] = {};
#pragma unroll
  for (int c = 0; c < Steps; ++c)
    products[0] = M::multiply(raised.fitting(fragments[c]), whole<M>(dout[c]), products[0]);
  lower<T>(products, own * raised.undo());
  return products[0];
}

// For backward_fused, which adds to them.
DEVICE void clear_sums(BackwardArguments& a, const Block& block, int first_row, int lane) {
  if (a.dq_sum.data == nullptr) return;
  float* const sums = sums_of(a, block.batch, block.q, block.head) + first_row * a.dq_sum.dims;
  const auto count = min(block.q.count - first_row, kTile) * static_cast<int>(a.dq_sum.dims);
#pragma nounroll
  for (int n = 4 * lane; n < count; n += 4 * kWave) *reinterpret_cast<f32x4*>(sums + n) = f32x4{};
}

// lse and delta of the lane's row, the diagonal element of `products`. If `writes`, they go to the workspace for the
// kernels that follow. What a row without keys has in dout counts for nothing.
template <class T>
DEVICE rapt_abi_row_statistics statistics_from(BackwardArguments& a, const Block& block, int first_row, int lane,
                                               bool writes, const Tile& products) {
  float delta = 0;
#pragma unroll
  for (int r = 0; r < kRegisters; ++r)
    if (Matrix<T>::element(r, lane / kTile) == lane % kTile) delta = products[r];
  rapt_abi_row_statistics s = {__builtin_inff(), query_sum(delta)};
  const char* const lse = reinterpret_cast<const char*>(a.lse.data) + block.batch * a.lse.batch +
                          block.head * a.lse.head + block.q.first * a.lse.query;
  rapt_abi_row_statistics* const statistics = statistics_of(a, block.batch, block.q, block.head);
  if (const int row = first_row + lane % kTile; row < block.q.count) {
    const float of_row = *reinterpret_cast<const float*>(lse + row * a.lse.query);
    if (of_row == -__builtin_inff()) s.delta = 0;
    else s.lse = of_row;
    if (writes && lane < kTile) statistics[row] = {marked(s.lse), s.delta};
  }
  if (writes) clear_sums(a, block, first_row, lane);
  return s;
}

// The delta of the lane's row, whose dO is in `dout`.
template <class T, class Own, int Steps>
DEVICE rapt_abi_row_statistics make_statistics(BackwardArguments& a, const Block& block, int first_row, int lane,
                                               const Own (&dout)[Steps], float own = 1) {
  const char* const out = first_row_of(a.out, block.batch, block.q, block.head);
  const Tile products =
      row_products<T>(out, a.out.seq, a.problem.head_dim_v, first_row, block.q.count, lane, dout, own);
  return statistics_from<T>(a, block, first_row, lane, true, products);
}

// Copies the statistics of a step's rows, from `first` on, to LDS. Missing rows get lse = +inf and delta = 0, as rows
// that attend nothing have. Later runs have the lse itself, which statistics may not have (huge.hpp).
template <class T, int Queries>
DEVICE void stage_statistics(BackwardArguments& a, const Block& block, int first, int run,
                             rapt_abi_row_statistics* staged) {
  const int thread = opaque_thread_id(), row = first + thread;
  if (thread >= Queries) return;
  rapt_abi_row_statistics s = {__builtin_inff(), 0};
  if (row < block.q.count) {
    s = statistics_of(a, block.batch, block.q, block.head)[row];
    if (run != kFirstRun) s.lse = unmarked(opaque_copy(a), block.batch, block.head, block.q, row, s.lse);
  }
  s.lse += added_to_lse<T>(run);
  staged[thread] = s;
}

}  // namespace rapt::amd
