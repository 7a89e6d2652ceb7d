// The gradient of a sink, which is a logit whose value is zero: dsink = -sum over rows of exp(sink - lse) delta.
#pragma once

#include "kernels/common/huge.hpp"
#include "kernels/common/scores.hpp"

namespace rapt::RAPT_VENDOR {

// An lse is at least its sink, but for the rounding of huge numbers. Both may be Inf.
DEVICE float sink_weight(float sink, float lse) { return sink >= lse ? 1 : exp2((sink - lse) * kLog2e); }

// A workgroup's head. Each thread sums every Threads-th row of each sequence, then half of the threads add the sums of
// the other half, and so on: the same order in every run. `sums` has an element per thread.
template <int Threads>
DEVICE void sink_gradient(BackwardArguments& a, float* sums) {
  Problem& p = a.problem;
  Block block;
  block.head = workgroup_id();
  const float sink = sink_of(p, block);
  const int thread = thread_id();
  float sum = 0;
#pragma unroll 1
  for (int batch = 0; batch < p.batch; ++batch) {
    const Span q = sequence(p.cu_seqlens_q, batch, p.total_q, p.seqlen_q);
    const rapt_abi_row_statistics* const rows = statistics_of(a, batch, q, block.head);
    // a sink of -Inf has no weight in any row, not even where delta is NaN
#pragma unroll 1
    for (int row = thread; row < q.count && sink != kMasked; row += Threads)
      sum -= sink_weight(sink, unmarked(a, batch, block.head, q, row, rows[row].lse)) * rows[row].delta;
  }
  sums[thread] = sum;
#pragma unroll 1
  for (int half = Threads / 2; half > 0; half /= 2) {
    barrier();
    if (thread < half) sums[thread] += sums[thread + half];
  }
  if (thread == 0) store_float(static_cast<char*>(a.dsink.data) + block.head * a.dsink.head, p.sink_dtype, sums[0]);
}

}  // namespace rapt::RAPT_VENDOR
