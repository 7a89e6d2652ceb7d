// Merges the partial results of a decode kernel.
#include "kernels/common/combine.hpp"

static_assert(RAPT_WAVES * rapt::nvidia::kWave == rapt::nvidia::kCombineThreads);
static_assert(RAPT_SHARED_BYTES == sizeof(rapt::nvidia::CombineShared), "shared= of the row");

KERNEL(rapt::nvidia::kCombineThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_decode_args arguments) {
  using namespace rapt::nvidia;
  extern __shared__ __align__(16) char shared[];
  auto& results = *reinterpret_cast<CombineShared*>(shared);
  if (arguments.partial.natural) combine<true>(arguments, results);
  else combine<false>(arguments, results);
}
