// dsink, from what backward_dq wrote of each row.
#include "kernels/common/sink_gradient.hpp"

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  __shared__ static float sums[RAPT_WAVES * kWave];
  sink_gradient<RAPT_WAVES * kWave>(opaque_copy(arguments<BackwardArguments>()), sums);
}
