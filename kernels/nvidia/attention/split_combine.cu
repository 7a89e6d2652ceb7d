// Merges the partial results of a row of q, one for each split of the keys, with the sums of split.cu. A wave folds a
// part of the splits, with all their loads in flight together. Then the parts are folded.
#include "kernels/common/sink.hpp"
#include "kernels/common/split.hpp"
#include "kernels/nvidia/isa/overlap.hpp"
#include "kernels/nvidia/tile/fold.hpp"

namespace rapt::nvidia {

inline constexpr int kParts = RAPT_WAVES, kThreads = kParts * kWave;  // parts at once
inline constexpr int kOfLane = 4, kDims = kOfLane * kWave;            // dimensions at a time
static_assert(kDims <= kThreads);

struct Parts {
  float4 out[kParts][kWave];
  rapt_abi_partial softmax[kParts];
};
static_assert(RAPT_SHARED_BYTES == sizeof(Parts), "shared= of the row");

// Folds splits from `first` on, out of `splits`, in a lane's four dimensions.
DEVICE float4 fold_part(const rapt_abi_partial* softmax, const float* out, int first, int splits, int dims, float power,
                        rapt_abi_partial& part) {
  // No load depends on a condition: loads past the end repeat the last split.
  rapt_abi_partial of_split[kSplitsOfPart];
  float4 x[kSplitsOfPart];
#pragma unroll
  for (int i = 0; i < kSplitsOfPart; ++i) {
    const int split = min(first + i, splits - 1);
    of_split[i] = softmax[split];
    x[i] = *reinterpret_cast<const float4*>(out + split * dims);
  }
  part = no_keys();
  float4 o = {};
#pragma unroll
  for (int i = 0; i < kSplitsOfPart; ++i) {
    if (first + i >= splits) of_split[i].sum = 0;
    if (of_split[i].sum == 0) x[i] = {};  // a split without keys wrote no result
    const FoldWeights weights = fold(part, of_split[i], power);
    o = {weights(o.x, x[i].x), weights(o.y, x[i].y), weights(o.z, x[i].z), weights(o.w, x[i].w)};
  }
  return o;
}

template <bool Natural>
DEVICE void combine(SplitArguments& a, Parts& parts) {
  using Row = Softmax<fp32, Natural>;
  Problem& p = a.problem;
  const int id = workgroup_id(), thread = thread_id(), lane = thread % kWave, wave = thread / kWave;
  const int of_heads = divide(id, a.by_heads_q), batch = divide(of_heads, a.by_seqlen_q);
  const int head = id - of_heads * p.heads_q, query = of_heads - batch * p.seqlen_q, head_k = divide(head, a.by_group);
  const SplitBlock of_row = split_sequence(a, batch);
  const int splits = splits_with_keys(a, of_row), dims = a.partial.dims;
  const int64_t row = (static_cast<int64_t>(batch) * p.heads_k + head_k) * p.seqlen_q * p.group + query * p.group +
                      head - head_k * p.group;
  const rapt_abi_partial* const softmax = a.partial.softmax + row * a.splits;
  const float* const out = a.partial.out + row * a.splits * dims;
  const Block block = of_row.block(p, head);
  const int size = a.partial.out_dtype == RAPT_ABI_FP32 ? 4 : 2;
  char* const to = first_row_of(a.out, batch, block.q, head) + query * a.out.seq;
  wait_for_previous();
  let_next_start();
  if (query >= of_row.q.count) return;
  const Sink sink = Sink::of<Natural>(p, block);
#pragma unroll 1
  for (int first_dim = 0; first_dim < p.head_dim_v; first_dim += kDims) {
    const int from_dim = min(first_dim + lane * kOfLane, dims - kOfLane), dim = first_dim + thread;
    rapt_abi_partial whole = no_keys();
    float total = 0;
#pragma unroll 1
    for (int first = 0; first < splits; first += kParts * kSplitsOfPart) {
      barrier();  // earlier parts have been read
      const int first_of_part = first + wave * kSplitsOfPart;
      if (first_of_part < splits) {
        rapt_abi_partial part;
        parts.out[wave][lane] = fold_part(softmax, out + from_dim, first_of_part, splits, dims, Row::kPower, part);
        if (lane == 0) parts.softmax[wave] = part;
      }
      barrier();
      const int count = min((splits - first + kSplitsOfPart - 1) / kSplitsOfPart, kParts);
#pragma unroll 4
      for (int i = 0; i < count; ++i) {
        const FoldWeights weights = fold(whole, parts.softmax[i], Row::kPower);
        if (thread < kDims)
          total = weights(total, reinterpret_cast<const float*>(&parts.out[i][thread / kOfLane])[thread % kOfLane]);
      }
    }
    Row result;
    result.reference = whole.reference, result.sum = whole.sum;
    const float factor = result.finish_total(sink.logit) * p.keep_scale;
    if (thread < kDims && dim < p.head_dim_v) store_float(to + dim * size, a.partial.out_dtype, total * factor);
    if (thread == 0 && first_dim == 0) store_lse(a, block, query, sink.lse(result.lse()));
  }
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_split_args arguments) {
  using namespace rapt::nvidia;
  extern __shared__ __align__(16) char shared[];
  auto& parts = *reinterpret_cast<Parts*>(shared);
  if (arguments.partial.natural) combine<true>(arguments, parts);
  else combine<false>(arguments, parts);
}
