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
  std::optional<Array> dbias, dsink;

  rapt::Gradients view();
  rapt::Gradients view(Placement& place);
};

}  // namespace rapt::cli
