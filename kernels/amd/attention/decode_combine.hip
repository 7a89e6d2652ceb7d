// Merges the partial results of a decode kernel.
#include "kernels/common/combine.hpp"

KERNEL(rapt::amd::kCombineThreads, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_decode_args) {
  using namespace rapt::amd;
  static_assert(RAPT_WAVES * kWave == kCombineThreads);
  __shared__ static CombineShared shared;
  DecodeArguments& a = opaque_copy(arguments<DecodeArguments>());
  if (a.partial.natural) combine<true>(a, shared);
  else combine<false>(a, shared);
}
