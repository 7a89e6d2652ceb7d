// Properties of the real products, by architecture (kernels/architectures.hpp, kernels/siblings.hpp).
#pragma once

#include "kernels/siblings.hpp"
#include "sim/isa/arch.hpp"

namespace rapt::sim {

struct Properties : Architecture {
  Arch arch;
};
const Properties& properties(Arch arch);

}  // namespace rapt::sim
