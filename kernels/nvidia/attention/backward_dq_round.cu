// dq from what backward_fused added up.
#include "kernels/nvidia/tile/dq_sums.hpp"

namespace rapt::nvidia {
inline constexpr int kThreads = RAPT_WAVES * kWave, kRows = RAPT_WAVES * kTile;
}

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_backward_args arguments) {
  using namespace rapt::nvidia;
  round_dq<RAPT_DTYPE, kRows, kThreads>(arguments);
}
