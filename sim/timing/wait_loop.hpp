// Loops in which a wave does nothing but wait for another one.
#pragma once

#include "sim/machine/core/program.hpp"

#include <optional>

namespace rapt::sim::timing {

// A compare-and-swap is a load until it succeeds.
inline bool is_compare_and_swap(const Instruction& instruction) {
  return instruction.opcode->name.find("cmpswap") != std::string_view::npos;
}

// The instructions from slot `head` to `latch`, a branch back to `head`.
struct CodeLoop {
  std::uint32_t head = 0, latch = 0;
  bool contains(std::uint32_t slot) const { return head <= slot && slot <= latch; }
  bool operator==(const CodeLoop&) const = default;
};

// Whether the loop only waits until memory changes: it loads from addresses that stay the same, what it loads decides
// whether it goes on, and it changes nothing, except that one wave may pass on to the others through the LDS what it
// loaded. Loops without a load or with a fixed number of rounds do not wait.
bool is_wait_loop(const Program& program, CodeLoop loop);

// The loop up to the last branch back to its head: waves that skip part of a round may take an earlier one.
CodeLoop to_last_latch(const Program& program, CodeLoop loop);

// Null beyond the code, and where something is that is no instruction.
const Entry* entry_at(const Program& program, std::uint32_t slot);

// Where an instruction that may branch continues if it does; none if it does not say.
std::optional<std::uint32_t> branch_target(const Entry& entry);

}  // namespace rapt::sim::timing
