// Merges the partial results of a row of q, one for each split of the keys. Each of kCombineParts parts of a workgroup
// merges every fourth split, in order, with an online softmax over the splits; then the parts are added in order.
#pragma once

#include "kernels/common/decode.hpp"
#include "kernels/common/scores.hpp"
#include "kernels/common/softmax.hpp"

namespace rapt::RAPT_VENDOR {

inline constexpr int kCombineThreads = 256, kCombineParts = 4, kCombineLanes = kCombineThreads / kCombineParts;
inline constexpr int kOfLane = 2, kCombineDims = kOfLane * kCombineLanes;  // dimensions at a time
inline constexpr int kAtOnce = 8;  // splits of a part whose loads are on their way together
// At least the least normal number: an Inf of V counts however little its key weighs.
inline constexpr float kLeastWeight = 0x1p-126f;

struct CombineShared {
  rapt_abi_partial softmax[kCombineParts];
  float out[kCombineParts][kCombineDims];
};

// One part's sum over its splits of the row's partial results, for dimensions from first_dim on, in shared memory.
template <bool Natural>
DEVICE void merge_part(const rapt_abi_partial* partial, const float* out, int splits, int dims, int first_dim,
                       CombineShared& shared) {
  constexpr float power = Softmax<fp32, Natural>::kPower;
  const int part = thread_id() / kCombineLanes, lane = thread_id() % kCombineLanes;
  float reference = kLowest, sum = 0, o[kOfLane] = {};
#pragma unroll 1
  for (int first = part; first < splits; first += kCombineParts * kAtOnce) {
    // All loads begin before the first is needed, so none depends on a condition: they repeat the last split or
    // dimension instead.
    rapt_abi_partial of_split[kAtOnce];
    float x[kOfLane][kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) of_split[i] = partial[min(first + i * kCombineParts, splits - 1)];
#pragma unroll
    for (int d = 0; d < kOfLane; ++d)
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        x[d][i] = out[static_cast<int64_t>(min(first + i * kCombineParts, splits - 1)) * dims +
                      min(first_dim + d * kCombineLanes + lane, dims - 1)];
    float top = reference;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i * kCombineParts >= splits) of_split[i].sum = 0;
      if (of_split[i].sum != 0) top = max(top, of_split[i].reference);
    }
    const float factor = max(exp2((reference - top) * power), kLeastWeight);
    reference = top;
    sum *= factor;
#pragma unroll
    for (int d = 0; d < kOfLane; ++d) o[d] *= factor;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (of_split[i].sum == 0) continue;  // what a split without keys holds is no result
      const float weight = max(exp2((of_split[i].reference - top) * power), kLeastWeight);
      sum += weight * of_split[i].sum;
#pragma unroll
      for (int d = 0; d < kOfLane; ++d) o[d] += weight * x[d][i];
    }
  }
  if (lane == 0) shared.softmax[part] = {reference, sum};
#pragma unroll
  for (int d = 0; d < kOfLane; ++d) shared.out[part][d * kCombineLanes + lane] = o[d];
}

template <bool Natural>
DEVICE void combine(DecodeArguments& a, CombineShared& shared) {
  using Row = Softmax<fp32, Natural>;
  Problem& p = a.problem;
  const int id = workgroup_id(), thread = thread_id();
  const int head = id % p.heads_q, query = id / p.heads_q % p.seqlen_q, batch = id / p.heads_q / p.seqlen_q;
  const DecodeBlock of_row = decode_sequence(a, batch);
  if (query >= of_row.q.count) return;
  const int splits = splits_with_keys(a, of_row), dims = p.head_dim_v;
  const int64_t row = (static_cast<int64_t>(batch) * p.heads_k + head / p.group) * p.seqlen_q * p.group +
                      query * p.group + head % p.group;
  const rapt_abi_partial* const partial = a.partial.softmax + row * a.splits;
  const float* const out = a.partial.out + row * a.splits * dims;
  const Block block = of_row.block(p, head);
  const int size = a.partial.out_dtype == RAPT_ABI_FP32 ? 4 : 2;
  char* const to = first_row_of(a.out, batch, block.q, head) + query * a.out.seq;
#pragma unroll 1
  for (int first_dim = 0; first_dim < dims; first_dim += kCombineDims) {
    if (first_dim > 0) barrier();
    merge_part<Natural>(partial, out, splits, dims, first_dim, shared);
    barrier();
    Row softmax;
#pragma unroll
    for (int i = 0; i < kCombineParts; ++i) softmax.reference = max(softmax.reference, shared.softmax[i].reference);
    float factors[kCombineParts];
#pragma unroll
    for (int i = 0; i < kCombineParts; ++i) {
      const float factor = max(exp2((shared.softmax[i].reference - softmax.reference) * Row::kPower), kLeastWeight);
      factors[i] = shared.softmax[i].sum != 0 ? factor : 0;
      softmax.sum += factors[i] * shared.softmax[i].sum;
    }
    const float factor = softmax.finish_total(sink_of<Natural>(p, block)) * p.keep_scale;
    if (thread < kCombineDims && first_dim + thread < dims) {
      float total = 0;
#pragma unroll
      for (int i = 0; i < kCombineParts; ++i)
        if (factors[i] != 0) total += factors[i] * shared.out[i][thread];
      store_float(to + (first_dim + thread) * size, a.partial.out_dtype, total * factor);
    }
    if (thread == 0 && first_dim == 0) store_lse(a, block, query, softmax.lse());
  }
}

}  // namespace rapt::RAPT_VENDOR
