// Which instructions a kernel can reach, and what its loops depend on.
#pragma once

#include "sim/machine/core/program.hpp"

#include <map>
#include <optional>

namespace rapt::sim::timing {

// By slot.
using ReachedCode = std::map<std::uint32_t, const Entry*>;

// The code that can be reached from the kernel's entry; none if it jumps to an address in registers.
std::optional<ReachedCode> reached(const Program& program, std::uint64_t entry);

// Whether what a loop loads decides one of its branches, so that how often it goes round may depend on what other
// workgroups store meanwhile. A load that may return what a cache has kept (it is not coherent, and the loop
// invalidates no cache) does not count. Neither does what has been through a matrix product or floating-point
// arithmetic: that is data, not a word that says whether to go on.
bool loads_decide_a_loop(const ReachedCode& code);

}  // namespace rapt::sim::timing
