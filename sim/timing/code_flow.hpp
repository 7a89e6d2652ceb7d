// The instructions that a kernel can reach, and whether its workgroups depend on each other.
#pragma once

#include "sim/machine/core/program.hpp"

#include <map>
#include <optional>

namespace rapt::sim::timing {

// By slot.
using ReachedCode = std::map<std::uint32_t, const Entry*>;

// The code that can be reached from the kernel's entry; none if it jumps to an address in registers.
std::optional<ReachedCode> reached(const Program& program, std::uint64_t entry);

// Whether workgroups draw tickets: persistent ones draw the number of each tile, and with split K each one counts
// whether it is the last. An atomic that returns what it found tells them.
bool draws_tickets(const ReachedCode& code);

// The slot of a loop's branch that depends on what the loop loads, so that the number of rounds may depend on what
// other workgroups store meanwhile. A load counts if it is coherent or if the loop invalidates the caches. Values that
// have been through a matrix product or floating-point arithmetic do not count: they are data, not a word that says
// whether to go on.
std::optional<std::uint32_t> branch_decided_by_loads(const ReachedCode& code);

}  // namespace rapt::sim::timing
