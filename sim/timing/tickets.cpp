#include "sim/timing/tickets.hpp"

#include "sim/timing/wait_loop.hpp"

#include <algorithm>
#include <vector>

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
  Tickets found = Tickets::none;
  for (std::size_t slot = 0; slot < program.slots() && found != Tickets::numbers;) {
    const auto instruction = decode(program.mode(), {words + slot, std::min<std::size_t>(5, program.slots() - slot)});
    if (instruction) found = std::max(found, returned(*instruction, effects(*instruction, program.mode().lanes)));
    slot += instruction ? instruction->size / 4 : 1;
  }
  return found;
}

}  // namespace

Tickets tickets_of(const Program& program, std::uint64_t entry) {
  Tickets found = Tickets::none;
  std::vector<bool> seen(program.slots());
  std::vector<std::uint32_t> open{static_cast<std::uint32_t>((entry - program.base()) / 4)};
  while (!open.empty() && found != Tickets::numbers) {
    const std::uint32_t slot = open.back();
    open.pop_back();
    if (slot >= seen.size() || seen[slot]) continue;
    seen[slot] = true;
    const Entry* const e = entry_at(program, slot);
    if (!e) continue;
    found = std::max(found, returned(e->instruction, e->effects));
    const std::string_view name = e->instruction.opcode->name;
    if (name.starts_with("s_endpgm")) continue;
    const auto target = branch_target(*e);
    if (target) open.push_back(*target);
    else if (e->effects.unit == Unit::branch) return in_all(program);
    if (name != "s_branch") open.push_back(slot + e->instruction.size / 4);
  }
  return found;
}

}  // namespace rapt::sim::timing
