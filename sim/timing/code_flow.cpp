#include "sim/timing/code_flow.hpp"

#include "sim/machine/core/fault.hpp"
#include "sim/timing/register_set.hpp"

#include <deque>
#include <set>
#include <vector>

namespace rapt::sim::timing {
namespace {

// Null beyond the code, and where there is no instruction.
const Entry* entry_at(const Program& program, std::uint32_t slot) {
  try {
    return &program.at(program.base() + 4 * std::uint64_t{slot});
  } catch (const Fault&) {
    return nullptr;
  }
}

// Where a branch goes that is taken; none if the instruction does not say.
std::optional<std::uint32_t> branch_target(const Entry& entry) {
  const std::string_view name = entry.instruction.opcode->name;
  if (!name.starts_with("s_branch") && !name.starts_with("s_cbranch")) return std::nullopt;
  return static_cast<std::uint32_t>(std::int64_t{entry.slot} + entry.instruction.size / 4 +
                                    entry.instruction.immediate);
}

// A branch beyond the reach of s_branch: s_getpc, the two halves of an addition of the distance, s_setpc. `code` has
// what comes before it.
std::optional<std::uint32_t> far_target(const ReachedCode& code, const Entry& entry) {
  if (entry.instruction.opcode->name != "s_setpc_b64") return std::nullopt;
  const std::uint16_t pair = entry.instruction.src[0].index;
  std::optional<std::int32_t> distance;
  auto before = code.find(entry.slot);
  for (int n = 0; n < 6 && before != code.begin(); ++n) {
    const Instruction& i = (--before)->second->instruction;
    const std::string_view name = i.opcode->name;
    if (i.dst.kind != OperandKind::sgpr || i.dst.index != pair) continue;
    if ((name == "s_add_u32" || name == "s_add_co_u32") && i.src[1].kind == OperandKind::constant)
      distance = static_cast<std::int32_t>(i.src[1].value);
    else if (name == "s_getpc_b64" && distance)
      return static_cast<std::uint32_t>(std::int64_t{before->first} + i.size / 4 + *distance / 4);
  }
  return std::nullopt;
}

bool ends(const Entry& entry) { return entry.instruction.opcode->name.starts_with("s_endpgm"); }

std::vector<std::uint32_t> successors(const ReachedCode& code, const Entry& entry) {
  const std::string_view name = entry.instruction.opcode->name;
  std::vector<std::uint32_t> slots;
  if (ends(entry)) return slots;
  if (const auto target = far_target(code, entry)) return {*target};
  if (name != "s_branch") slots.push_back(entry.slot + entry.instruction.size / 4);
  if (const auto target = branch_target(entry)) slots.push_back(*target);
  return slots;
}

// Compilers take the form that returns nothing where nothing reads the result.
bool returns_atomic(const Entry& entry) {
  const Effects& e = entry.effects;
  return e.atomic && e.unit != Unit::lds && !e.writes().empty();
}

bool is_arithmetic(const Entry& entry) {
  const std::string_view name = entry.instruction.opcode->name;
  if (entry.effects.unit == Unit::matrix || entry.effects.unit == Unit::trans) return true;
  if (entry.effects.unit != Unit::valu || name.starts_with("v_cmp")) return false;
  constexpr std::string_view types[] = {"_f32", "_f16", "_bf16", "_f64"};
  return std::any_of(std::begin(types), std::end(types),
                     [&](std::string_view type) { return name.find(type) != name.npos; });
}

// glc together with slc says that the data is not used again: "nontemporal" in the memory model of LLVM's AMDGPUUsage,
// before gfx940. Nothing waits with such a load.
bool is_coherent(const Instruction& i) { return (i.glc && !i.slc) || i.scc || i.scope != 0; }

// Whether loads behind it find what other workgroups stored before.
bool invalidates(const Entry& entry) {
  const Instruction& i = entry.instruction;
  const std::string_view name = i.opcode->name;
  constexpr std::uint8_t device = 2;  // scope
  if (name == "buffer_inv") return i.scc;
  if (name == "global_inv") return i.scope >= device;
  return name.starts_with("buffer_wbinvl1") || name.starts_with("buffer_invl2") || name == "buffer_gl1_inv";
}

// The loops as sets of instructions: the strongly connected components, by S. Rao Kosaraju's algorithm. It searches the
// reversed graph, and begins with what a search of the graph left last.
std::vector<std::vector<std::uint32_t>> loops_of(const ReachedCode& code) {
  std::vector<std::uint32_t> left;
  std::set<std::uint32_t> seen;
  std::map<std::uint32_t, std::vector<std::uint32_t>> predecessors;
  struct Visit {
    std::uint32_t slot;
    std::vector<std::uint32_t> open;
  };
  for (const auto& [first, entry] : code) {
    if (!seen.insert(first).second) continue;
    std::vector<Visit> path{{first, successors(code, *entry)}};
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.open.empty()) {
        left.push_back(visit.slot);
        path.pop_back();
        continue;
      }
      const std::uint32_t next = visit.open.back();
      visit.open.pop_back();
      const auto found = code.find(next);
      if (found == code.end()) continue;
      predecessors[next].push_back(visit.slot);
      if (seen.insert(next).second) path.push_back({next, successors(code, *found->second)});
    }
  }
  std::vector<std::vector<std::uint32_t>> loops;
  seen.clear();
  for (auto slot = left.rbegin(); slot != left.rend(); ++slot) {
    if (!seen.insert(*slot).second) continue;
    std::vector<std::uint32_t> loop{*slot};
    for (std::size_t n = 0; n < loop.size(); ++n)
      for (const std::uint32_t before : predecessors[loop[n]])
        if (seen.insert(before).second) loop.push_back(before);
    const std::vector<std::uint32_t>& to_itself = predecessors[*slot];
    if (loop.size() > 1 || std::find(to_itself.begin(), to_itself.end(), *slot) != to_itself.end())
      loops.push_back(std::move(loop));
  }
  return loops;
}

// The branch of the loop that depends on what the loop loads. None in loops that draw tickets, or try a
// compare-and-swap until it succeeds: whoever runs makes progress there.
std::optional<std::uint32_t> decided_branch(const ReachedCode& code, const std::vector<std::uint32_t>& loop) {
  if (std::any_of(loop.begin(), loop.end(), [&](auto slot) { return returns_atomic(*code.at(slot)); })) return {};
  const bool refreshed = std::any_of(loop.begin(), loop.end(), [&](auto slot) { return invalidates(*code.at(slot)); });
  // A load that is not coherent, in a loop that invalidates no cache, may return the old value for ever: no code waits
  // like that. Nor do invalidated vector caches make a scalar load new.
  const auto looks = [&](const Entry& e) {
    if (!e.effects.loads || e.effects.unit == Unit::lds) return false;
    return is_coherent(e.instruction) || (refreshed && e.effects.unit != Unit::smem);
  };
  std::map<std::uint32_t, RegisterSet> before;  // which registers hold what the loop has loaded
  for (const std::uint32_t slot : loop) before[slot];
  std::deque<std::uint32_t> open(loop.begin(), loop.end());
  bool shared = false;  // through the LDS
  while (!open.empty()) {
    const Entry& entry = *code.at(open.front());
    open.pop_front();
    RegisterSet loaded = before.at(entry.slot);
    const bool from_memory = reads_any(entry, loaded);
    if (entry.effects.unit == Unit::branch && from_memory) return entry.slot;
    if (entry.effects.unit == Unit::lds && entry.effects.stores && from_memory && !shared) {
      shared = true;
      open.assign(loop.begin(), loop.end());
    }
    const bool load = looks(entry) || (entry.effects.unit == Unit::lds && entry.effects.loads && shared);
    mark_writes(entry, loaded, load || (from_memory && !is_arithmetic(entry)));
    for (const std::uint32_t next : successors(code, entry))
      if (const auto at = before.find(next); at != before.end() && at->second.add(loaded)) open.push_back(next);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ReachedCode> reached(const Program& program, std::uint64_t entry) {
  ReachedCode code;
  std::vector<std::uint32_t> open{static_cast<std::uint32_t>((entry - program.base()) / 4)};
  while (!open.empty()) {
    const std::uint32_t slot = open.back();
    open.pop_back();
    if (slot >= program.slots() || code.contains(slot)) continue;
    const Entry* const e = entry_at(program, slot);
    if (!e) continue;
    code[slot] = e;
    if (e->effects.unit == Unit::branch && !ends(*e) && !branch_target(*e) && !far_target(code, *e))
      return std::nullopt;
    for (const std::uint32_t next : successors(code, *e)) open.push_back(next);
  }
  return code;
}

bool draws_tickets(const ReachedCode& code) {
  return std::any_of(code.begin(), code.end(), [](const auto& slot) { return returns_atomic(*slot.second); });
}

std::optional<std::uint32_t> branch_decided_by_loads(const ReachedCode& code) {
  for (const std::vector<std::uint32_t>& loop : loops_of(code))
    if (const auto branch = decided_branch(code, loop)) return branch;
  return std::nullopt;
}

}  // namespace rapt::sim::timing
