// Keys that a row does not attend, in the pipelined kernels of dq, where a lane has one row. Products has tiles of S
// and dP; M::element says which key a register is.
#pragma once

#include "kernels/amd/attention/attend.hpp"

namespace rapt::amd {

// A row without keys has no gradient, whatever its dO is, though with a sink it has an lse.
DEVICE float delta_of(const rapt_abi_row_statistics& row, const Query& query) {
  return query.begin < query.end && row.lse != __builtin_inff() ? row.delta : 0;
}

// dP becomes dP - delta: in later runs, so that a delta of Inf or NaN does not reach what exclude() sets to 0.
template <class M, class Products>
DEVICE void subtract_delta(BackwardArguments& a, const Block& block, int row, const Query& query, Products& x) {
  const rapt_abi_row_statistics* const rows = statistics_of(a, block.batch, block.q, block.head);
  const float delta = delta_of(rows[min(row, block.q.count - 1)], query);
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) x.dp[r] -= delta;
}

// Also where a logit is -Inf by an Inf in q or K.
template <class M, class Products>
DEVICE void exclude(int begin, int count, int half, Products& x) {
  const auto size = static_cast<uint32_t>(max(count, 0));
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    const bool attends = static_cast<uint32_t>(M::element(r, half) - begin) < size && x.s[r] != kMasked;
    x.s[r] = attends ? x.s[r] : kMasked;
    x.dp[r] = attends ? x.dp[r] : 0;
  }
}

}  // namespace rapt::amd
