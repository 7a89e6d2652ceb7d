#include "sim/timing/tickets.hpp"

#include "sim/timing/code_flow.hpp"
#include "sim/timing/wait_loop.hpp"

#include <algorithm>

namespace rapt::sim::timing {
namespace {

// Compilers take the form that returns nothing where nothing reads the result.
Tickets returned(const Instruction& instruction, const Effects& e) {
  if (!e.atomic || e.unit == Unit::lds || e.writes().empty()) return Tickets::none;
  return is_compare_and_swap(instruction) ? Tickets::order : Tickets::numbers;
}

// Decoded without the program's entries, which would keep all of a library's kernels.
Tickets in_all(const Program& program) {
  const auto* const words = reinterpret_cast<const std::uint32_t*>(program.base());
  Tickets found = Tickets::looks;
  for (std::size_t slot = 0; slot < program.slots() && found != Tickets::numbers;) {
    const auto instruction = decode(program.mode(), {words + slot, std::min<std::size_t>(5, program.slots() - slot)});
    if (instruction) found = std::max(found, returned(*instruction, effects(*instruction, program.mode().lanes)));
    slot += instruction ? instruction->size / 4 : 1;
  }
  return found;
}

}  // namespace

Tickets tickets_of(const Program& program, std::uint64_t entry) {
  const std::optional<ReachedCode> code = reached(program, entry);
  if (!code) return in_all(program);
  Tickets found = Tickets::none;
  for (const auto& [slot, e] : *code) found = std::max(found, returned(e->instruction, e->effects));
  return found == Tickets::none && loads_decide_a_loop(*code) ? Tickets::looks : found;
}

}  // namespace rapt::sim::timing
