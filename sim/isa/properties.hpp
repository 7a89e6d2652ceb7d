// Properties of the real products, by architecture (kernels/architectures.hpp, kernels/simulated.hpp,
// kernels/siblings.hpp).
#pragma once

#include "kernels/siblings.hpp"
#include "kernels/simulated.hpp"
#include "sim/isa/arch.hpp"

#include <algorithm>
#include <iterator>

namespace rapt::sim {

// AMD's rows come first in the table of architectures, in the order of Arch; the others have tables of their own.
constexpr const Architecture& facts_of(Arch arch) {
  const auto n = static_cast<unsigned>(arch);
  constexpr unsigned with_kernels = arch_count - std::size(architectures::kSimulated);
  if (n < with_kernels) return architectures::kTable[n];
  if (n < arch_count) return architectures::kSimulated[n - with_kernels];
  return architectures::kSiblingTable[n - arch_count];
}

struct Properties : Architecture {
  Arch arch;
};
const Properties& properties(Arch arch);

}  // namespace rapt::sim
