// Statistics of rows, which the first kernel of the backward pass writes and others read.
#pragma once

#include "kernels/common/huge.hpp"

namespace rapt::nvidia {

// Statistics have lse in the log2 domain, or in natural units: with a bias, because lse of the lowest bf16 overflows in
// the log2 domain, and for the gradient of a sink.
DEVICE bool natural_units(BackwardArguments& a) { return a.problem.bias.data != nullptr || a.dsink.data != nullptr; }
DEVICE float lse_unit(BackwardArguments& a) { return natural_units(a) ? 1 : kLog2e; }
DEVICE float natural_lse(BackwardArguments& a, float lse) { return natural_units(a) ? lse : lse * kLn2; }

// Statistics of a row from its lse and delta. A row that attends nothing has an lse of -Inf.
DEVICE rapt_abi_row_statistics statistics_from(float lse, float delta, float unit) {
  const bool attends = lse != -__builtin_inff();
  return {attends ? marked(lse) * unit : __builtin_inff(), attends ? delta : 0};
}

// The lse of a row of the block's sequence; -Inf if the row does not exist.
DEVICE float lse_of(BackwardArguments& a, const Block& b, int row) {
  return row < b.q.count ? *lse_at(a, b.batch, b.head, b.q, row) : -__builtin_inff();
}

}  // namespace rapt::nvidia
