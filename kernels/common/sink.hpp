// A sink in the softmax of its rows. Where it has no finite number in the unit of a kernel's logits, as 3e38 in base 2
// and Inf, it counts there as the largest float32.
#pragma once

#include "kernels/common/scores.hpp"

namespace rapt::RAPT_VENDOR {

struct Sink {
  float natural, logit;  // `logit`: in the unit of the kernel's logits

  template <bool General>
  DEVICE Sink of(Problem& p, const Block& b) {
    const float natural = sink_of(p, b), logit = General ? natural : kLog2e * natural;
    return {natural, logit > -kLowest ? -kLowest : logit};
  }

  // The lse of a row whose softmax is finished; it is never below the sink. NaN stays.
  DEVICE_MEMBER float lse(float of_softmax) const { return of_softmax < natural ? natural : of_softmax; }
};

}  // namespace rapt::RAPT_VENDOR
