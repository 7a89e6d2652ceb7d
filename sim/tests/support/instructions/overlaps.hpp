// Placements of an instruction's operands in which its destination overlaps its sources.
#pragma once

#include "sim/tests/support/instructions/any_instruction.hpp"

#include <functional>

namespace rapt::sim::test {

// Every placement that the encoding allows: a destination at each offset on each source, on two at once, all in one
// register; on VCC, M0 and EXEC; and sources there where an instruction writes them without naming them.
void for_each_overlap(const Encoding& apart, const std::function<void(const Encoding&)>& visit);

// Whether two operands share a register.
bool meet(const Operand& a, const Operand& b);

// The same instruction with no register in two places; the decoded form, for the result of an atomic can be taken from
// its data only there.
Instruction apart(const Encoding& overlapping);

}  // namespace rapt::sim::test
