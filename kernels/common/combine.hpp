// Merges the partial results of a row of q, one for each split of the keys, in the order of the splits.
#pragma once

#include "kernels/common/scores.hpp"
#include "kernels/common/softmax.hpp"

namespace rapt::RAPT_VENDOR {

inline constexpr int kCombineThreads = 256, kCombineParts = 4;  // each part sums every fourth split
inline constexpr int kCombineLanes = kCombineThreads / kCombineParts;

struct CombineShared {
  float weights[kCombineThreads];
  float sums[kCombineThreads];
};

// x of all threads by `merge`, in the same order in every run.
template <class Merge>
DEVICE float combined(float x, float* shared, Merge merge) {
  const int thread = thread_id();
  barrier();
  shared[thread] = x;
#pragma unroll 1
  for (int half = kCombineThreads / 2; half > 0; half /= 2) {
    barrier();
    if (thread < half) shared[thread] = merge(shared[thread], shared[thread + half]);
  }
  barrier();
  return shared[0];
}

template <bool Natural>
DEVICE void combine(DecodeArguments& a, CombineShared& shared) {
  Problem& p = a.problem;
  const int id = workgroup_id(), thread = thread_id(), splits = a.splits;
  Block block;
  block.head = id % p.heads_q;
  const int query = id / p.heads_q % p.seqlen_q;
  block.batch = id / p.heads_q / p.seqlen_q;
  block.q = sequence(p.cu_seqlens_q, block.batch, p.total_q, p.seqlen_q);
  if (query >= block.q.count) return;
  const int64_t row = (static_cast<int64_t>(block.batch) * p.heads_k + block.head / p.group) * p.seqlen_q * p.group +
                      query * p.group + block.head % p.group;
  const rapt_abi_partial* const partial = a.partial.softmax + row * splits;
  const float* const out = a.partial.out + row * splits * p.head_dim_v;

  using Row = Softmax<fp32, Natural>;
  Row softmax;
#pragma unroll 1
  for (int i = thread; i < splits; i += kCombineThreads)
    if (partial[i].sum != 0) softmax.reference = max(softmax.reference, partial[i].reference);
  softmax.reference = combined(softmax.reference, shared.sums, [](float x, float y) { return max(x, y); });

  constexpr int kMost = 512 / kCombineLanes;  // dimensions of a thread
  float o[kMost] = {}, sum = 0;
  const int part = thread / kCombineLanes, lane = thread % kCombineLanes;
#pragma unroll 1
  for (int first = 0; first < splits; first += kCombineThreads) {
    float weight = 0;
    if (first + thread < splits && partial[first + thread].sum != 0) {
      const rapt_abi_partial own = partial[first + thread];
      weight = exp2((own.reference - softmax.reference) * Row::kPower);
      sum += weight * own.sum;
    }
    barrier();
    shared.weights[thread] = weight;
    barrier();
    const int count = min(splits - first, kCombineThreads);
#pragma unroll
    for (int d = 0; d < kMost; ++d) {
      const int dim = d * kCombineLanes + lane;
      if (dim >= p.head_dim_v) break;
#pragma unroll 8
      for (int i = part; i < count; i += kCombineParts) {
        const float w = shared.weights[i];  // 0: nothing was written, or an Inf must not become NaN
        const float x = out[static_cast<int64_t>(first + i) * p.head_dim_v + dim];
        o[d] += w == 0 ? 0 : w * x;
      }
    }
  }
  softmax.sum = combined(sum, shared.sums, [](float x, float y) { return x + y; });
  const float factor = softmax.finish_total(sink_of<Natural>(p, block)) * p.keep_scale;

  const int size = a.partial.out_dtype == RAPT_ABI_FP32 ? 4 : 2;
  char* const to = first_row_of(a.out, block.batch, block.q, block.head) + query * a.out.seq;
#pragma unroll
  for (int d = 0; d < kMost; ++d) {
    if (d * kCombineLanes >= p.head_dim_v) break;
    barrier();
    shared.sums[thread] = o[d];
    barrier();
    const int dim = d * kCombineLanes + lane;
    if (part != 0 || dim >= p.head_dim_v) continue;
    float total = 0;
#pragma unroll
    for (int i = 0; i < kCombineParts; ++i) total += shared.sums[i * kCombineLanes + lane];
    store_float(to + dim * size, a.partial.out_dtype, total * factor);
  }
  if (thread == 0) store_lse(a, block, query, softmax.lse());
}

}  // namespace rapt::RAPT_VENDOR
