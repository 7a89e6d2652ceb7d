// The outputs of a library call, owned.
#pragma once

#include <optional>

#include "cli/core/attention.hpp"

namespace rapt::cli {

struct Forward {
  explicit Forward(const Attention& a);
  Array out, lse;
};

struct Gradients {
  explicit Gradients(const Attention& a);
  Array dq, dk, dv;
  Array dbias, dsink;  // absent where the attention has no bias, no sink

  rapt::Gradients view();
  rapt::Gradients view(Placement& place, int32_t wanted = ~0);  // rapt_gradient_bits
};

}  // namespace rapt::cli
