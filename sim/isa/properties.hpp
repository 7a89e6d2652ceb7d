// Properties of the real products, by architecture (kernels/architectures.hpp, kernels/siblings.hpp).
#pragma once

#include "kernels/siblings.hpp"
#include "sim/isa/arch.hpp"

#include <algorithm>

namespace rapt::sim {

// AMD's rows come first in the table of architectures, in the order of Arch; the siblings have a table of their own.
constexpr const Architecture& facts_of(Arch arch) {
  const auto n = static_cast<unsigned>(arch);
  return n < arch_count ? architectures::kTable[n] : architectures::kSiblingTable[n - arch_count];
}

struct Properties : Architecture {
  Arch arch;
};
const Properties& properties(Arch arch);

}  // namespace rapt::sim
