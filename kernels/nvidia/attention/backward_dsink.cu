// dsink, from the statistics of each row that backward_dq wrote.
#include "kernels/common/sink_gradient.hpp"

namespace rapt::nvidia {
inline constexpr int kThreads = RAPT_WAVES * kWave;
static_assert(RAPT_SHARED_BYTES == kThreads * sizeof(float), "shared= of the row");
}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, 1) RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  extern __shared__ __align__(16) float sums[];
  rapt::nvidia::sink_gradient<rapt::nvidia::kThreads>(arguments, sums);
}
