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

// Whether what a loop loads decides one of its branches: how often it goes round may then depend on what other
// workgroups store meanwhile. Loads that need not see that (not coherent, and no cache is invalidated in the loop) are
// not meant. Products and floating-point arithmetic are taken for work on data, from which no such word comes.
bool loads_decide_a_loop(const ReachedCode& code);

}  // namespace rapt::sim::timing
