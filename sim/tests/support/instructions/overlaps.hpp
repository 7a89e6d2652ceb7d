// Placements of an instruction's operands in which its destination overlaps its sources.
#pragma once

#include "sim/tests/support/instructions/any_instruction.hpp"

#include <functional>

namespace rapt::sim::test {

// Every placement that the encoding allows: a destination at each offset on each source, on two at once, all in one
// register, and on VCC, M0 and EXEC. If an instruction writes these implicitly, sources are placed there too.
void for_each_overlap(const Encoding& apart, const std::function<void(const Encoding&)>& visit);

// Whether two operands share a register.
bool meet(const Operand& a, const Operand& b);

// The same instruction with no register in two places; in decoded form, because only there can the result of an atomic
// be separated from its data.
Instruction apart(const Encoding& overlapping);

}  // namespace rapt::sim::test
