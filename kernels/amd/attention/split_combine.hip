// Merges the partial results of a split kernel.
#include "kernels/amd/tile/combine.hpp"

namespace rapt::amd {

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
