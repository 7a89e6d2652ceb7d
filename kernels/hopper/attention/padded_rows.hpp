// Rows of statistics and of sums of dQ in the pass that adds up dQ. Steps of up to 128 rows are copied whole, so each
// sequence has a multiple of 128 rows, and at least 128. Packed sequences begin at (first row / 128 + sequence) * 128.
// Their statistics follow a copy without such gaps, which other code reads.
#pragma once

#include "kernels/common/block.hpp"

namespace rapt::nvidia {

class PaddedRows {
 public:
  DEVICE_MEMBER explicit PaddedRows(BackwardArguments& a) : a_(a) {}

  // What belongs to a row of the block's sequence, in a head of q.
  DEVICE_MEMBER rapt_abi_row_statistics* statistics(const Block& b, int head, int row) const {
    Problem& p = a_.problem;
    const int64_t copy = packed() ? (int64_t{p.heads_q} * p.total_q + 1) / 2 * 2 : 0;
    return a_.statistics.data + copy + index(b, head, row);
  }
  DEVICE_MEMBER float* sums(const Block& b, int head, int row) const {
    return a_.dq_sum.data + index(b, head, row) * a_.dq_sum.dims;
  }
  DEVICE_MEMBER bool packed() const { return a_.problem.cu_seqlens_q != nullptr; }

  // The number of such a row among all.
  DEVICE_MEMBER int64_t index(const Block& b, int head, int row) const {
    Problem& p = a_.problem;
    if (!packed()) return b.batch * a_.statistics.batch + head * a_.statistics.head + row;
    const int of_head = (p.total_q / kRows + p.batch) * kRows, first = (b.q.first / kRows + b.batch) * kRows;
    return int64_t{head} * of_head + first + row;
  }

  // Blocks of 64 rows that a sequence of `rows` rows has.
  DEVICE int blocks(int rows) { return max((rows + kRows - 1) / kRows, 1) * 2; }

 private:
  static constexpr int kRows = 128;

  BackwardArguments& a_;
};

}  // namespace rapt::nvidia
