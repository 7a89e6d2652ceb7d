// Merges the partial results of a row of q, one for each split of the keys. Each of kCombineParts parts of a workgroup
// merges every eighth split, in order, with an online softmax over the splits; then the parts are added in order.
#include "kernels/common/split.hpp"
#include "kernels/common/sink.hpp"
#include "kernels/common/softmax.hpp"

namespace rapt::amd {

inline constexpr int kCombineThreads = 256, kCombineParts = 8, kCombineLanes = kCombineThreads / kCombineParts;
inline constexpr int kOfLane = 4, kCombineDims = kOfLane * kCombineLanes;  // dimensions at a time
inline constexpr int kAtOnce = 10;  // splits of a part whose loads are on their way together
// At least the least normal number: an Inf of V counts however little its key weighs.
inline constexpr float kLeastWeight = 0x1p-126f;

struct alignas(16) PartialNumbers {  // one load
  float x[kOfLane];
};

struct CombineShared {
  PartialNumbers out[kCombineParts][kCombineLanes];
  rapt_abi_partial softmax[kCombineParts];
};

// One part's sum over its splits of the row's partial results, for dimensions from first_dim on, in shared memory.
template <bool Natural>
DEVICE void merge_part(const rapt_abi_partial* partial, const float* out, int splits, int dims, int first_dim,
                       CombineShared& shared) {
  constexpr float power = Softmax<fp32, Natural>::kPower;
  const int part = thread_id() / kCombineLanes, lane = thread_id() % kCombineLanes;
  const int dim = min(first_dim + lane * kOfLane, dims - kOfLane);
  float reference = kLowest, sum = 0;
  PartialNumbers o = {};
#pragma unroll 1
  for (int first = part; first < splits; first += kCombineParts * kAtOnce) {
    // All loads begin before the first is needed, so none depends on a condition: they repeat the last split instead.
    rapt_abi_partial of_split[kAtOnce];
    PartialNumbers x[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int split = min(first + i * kCombineParts, splits - 1);
      of_split[i] = partial[split];
      x[i] = *reinterpret_cast<const PartialNumbers*>(out + static_cast<int64_t>(split) * dims + dim);
    }
    float top = reference;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i * kCombineParts >= splits) of_split[i].sum = 0;
      top = max(top, of_split[i].sum != 0 ? of_split[i].reference : kLowest);
    }
    const float factor = max(exp2((reference - top) * power), kLeastWeight);
    reference = top;
    sum *= factor;
#pragma unroll
    for (int d = 0; d < kOfLane; ++d) o.x[d] *= factor;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const bool has_keys = of_split[i].sum != 0;  // what a split without keys holds is no result
      const float weight = has_keys ? max(exp2((of_split[i].reference - top) * power), kLeastWeight) : 0;
      sum += weight * of_split[i].sum;
#pragma unroll
      for (int d = 0; d < kOfLane; ++d) o.x[d] += weight * (has_keys ? x[i].x[d] : 0);
    }
  }
  if (lane == 0) shared.softmax[part] = {reference, sum};
  shared.out[part][lane] = o;
}

template <bool Natural>
DEVICE void combine(SplitArguments& a, CombineShared& shared) {
  using Row = Softmax<fp32, Natural>;
  Problem& p = a.problem;
  const int id = workgroup_id(), thread = thread_id();
  const int of_heads = divide(id, a.by_heads_q), batch = divide(of_heads, a.by_seqlen_q);
  const int head = id - of_heads * p.heads_q, query = of_heads - batch * p.seqlen_q, head_k = divide(head, a.by_group);
  const SplitBlock of_row = split_sequence(a, batch);
  if (query >= of_row.q.count) return;
  const int splits = splits_with_keys(a, of_row), dims = a.partial.dims;
  const int64_t row = (static_cast<int64_t>(batch) * p.heads_k + head_k) * p.seqlen_q * p.group + query * p.group +
                      head - head_k * p.group;
  const rapt_abi_partial* const partial = a.partial.softmax + row * a.splits;
  const float* const out = a.partial.out + row * a.splits * dims;
  const Block block = of_row.block(p, head);
  const int size = a.partial.out_dtype == RAPT_ABI_FP32 ? 4 : 2;
  char* const to = first_row_of(a.out, batch, block.q, head) + query * a.out.seq;
#pragma unroll 1
  for (int first_dim = 0; first_dim < p.head_dim_v; first_dim += kCombineDims) {
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
    const Sink sink = Sink::of<Natural>(p, block);
    const float factor = softmax.finish_total(sink.logit) * p.keep_scale;
    if (thread < kCombineDims && first_dim + thread < p.head_dim_v) {
      float total = 0;
#pragma unroll
      for (int i = 0; i < kCombineParts; ++i) total += factors[i] * shared.out[i][thread / kOfLane].x[thread % kOfLane];
      store_float(to + (first_dim + thread) * size, a.partial.out_dtype, total * factor);
    }
    if (thread == 0 && first_dim == 0) store_lse(a, block, query, sink.lse(softmax.lse()));
  }
}

// As in split_attend.hpp: this kernel is too short to wait for its arguments one after another.
DEVICE void load_together(SplitArguments& a) {
  Problem& p = a.problem;
  asm volatile("" ::"s"(a.splits), "s"(a.split_rows), "s"(a.by_heads_q.factor), "s"(a.by_seqlen_q.factor),
               "s"(a.by_split_rows.factor), "s"(a.by_split_rows.shift), "s"(a.by_group.factor), "s"(a.out.data),
               "s"(a.out.batch), "s"(a.out.seq), "s"(a.partial.softmax), "s"(a.out.head), "s"(a.new_keys.seqlen),
               "s"(a.cache.seqused), "s"(a.cache.leftpad), "s"(a.partial.out), "s"(a.partial.dims),
               "s"(a.partial.natural), "s"(a.partial.out_dtype), "s"(p.cu_seqlens_q), "s"(p.cu_seqlens_k),
               "s"(p.total_q), "s"(p.heads_q), "s"(p.heads_k), "s"(p.group), "s"(p.seqlen_q), "s"(p.seqlen_k),
               "s"(p.head_dim_v));
  asm volatile("" ::"s"(a.lse.data), "s"(a.lse.batch), "s"(a.lse.head), "s"(a.lse.query), "s"(p.sink.data),
               "s"(p.keep_scale));
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kCombineThreads, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_split_args) {
  using namespace rapt::amd;
  static_assert(RAPT_WAVES * kWave == kCombineThreads);
  __shared__ static CombineShared shared;
  SplitArguments& a = opaque_copy(arguments<SplitArguments>());
  load_together(a);
  if (a.partial.natural) combine<true>(a, shared);
  else combine<false>(a, shared);
}
