// dq from what backward_fused added up.
#include "kernels/amd/isa/matrix.hpp"
#include "kernels/common/dq_round.hpp"

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  round_dq<RAPT_DTYPE, RAPT_WAVES * kWave, RAPT_WAVES * kTile>(opaque_copy(arguments<BackwardArguments>()));
}
