// Properties of the real products (kernels/architectures.hpp), by architecture.
#pragma once

#include "kernels/architectures.hpp"
#include "sim/isa/arch.hpp"

namespace rapt::sim {

struct Properties : Architecture {
  Arch arch;
};
const Properties& properties(Arch arch);

}  // namespace rapt::sim
