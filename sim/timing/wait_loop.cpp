#include "sim/timing/wait_loop.hpp"

#include "sim/machine/core/fault.hpp"
#include "sim/timing/register_set.hpp"

#include <algorithm>
#include <vector>

namespace rapt::sim::timing {
namespace {

bool is_address(const RegisterAccess& read) { return read.use == Use::address; }

// A number of rounds, or what else an instruction adds to itself. Masks of lanes that are done are no such numbers.
bool counts(const Entry& entry) {
  const std::string_view name = entry.instruction.opcode->name;
  if (name.find("_add") == name.npos && name.find("_sub") == name.npos) return false;
  if (entry.effects.unit != Unit::salu && entry.effects.unit != Unit::valu) return false;
  RegisterSet written;
  mark_writes(entry, written, true);
  constexpr unsigned implied = 255;  // a carry
  return reads_any(entry, written, [](const RegisterAccess& read) { return read.source != implied; });
}

bool is_load(const Entry& entry) {
  const Effects& e = entry.effects;
  return e.loads && e.unit != Unit::lds && (!e.stores || is_compare_and_swap(entry.instruction));
}

bool may_wait(const Entry& entry) {
  const Effects& e = entry.effects;
  switch (e.unit) {
    case Unit::matrix:
    case Unit::message: return false;
    case Unit::lds: return !e.atomic && e.loads != e.stores;
    case Unit::barrier: return true;
    case Unit::branch: return branch_target(entry).has_value();
    default: return (!e.stores && !e.atomic) || is_load(entry);
  }
}

// The loop's instructions; none if one of them does what no waiting loop does.
std::vector<const Entry*> waiting_body(const Program& program, CodeLoop loop) {
  std::vector<const Entry*> body;
  for (std::uint32_t slot = loop.head; slot <= loop.latch; slot += body.back()->instruction.size / 4) {
    body.push_back(entry_at(program, slot));
    if (!body.back() || !may_wait(*body.back())) return {};
  }
  return body;
}

}  // namespace

const Entry* entry_at(const Program& program, std::uint32_t slot) {
  try {
    return &program.at(program.base() + 4 * std::uint64_t{slot});
  } catch (const Fault&) {
    return nullptr;
  }
}

std::optional<std::uint32_t> branch_target(const Entry& entry) {
  const std::string_view name = entry.instruction.opcode->name;
  if (!name.starts_with("s_branch") && !name.starts_with("s_cbranch")) return std::nullopt;
  return static_cast<std::uint32_t>(std::int64_t{entry.slot} + entry.instruction.size / 4 +
                                    entry.instruction.immediate);
}

CodeLoop to_last_latch(const Program& program, CodeLoop loop) {
  const Entry* entry = entry_at(program, loop.latch);
  while (entry && may_wait(*entry)) {
    if (branch_target(*entry) == loop.head) loop.latch = entry->slot;
    entry = entry_at(program, entry->slot + entry->instruction.size / 4);
  }
  return loop;
}

bool is_wait_loop(const Program& program, CodeLoop loop) {
  const std::vector<const Entry*> body = waiting_body(program, loop);
  RegisterSet varying, loaded, shared;  // what differs from round to round; what comes from memory; from the LDS
  RegisterSet counted;                  // what comes from a count of rounds
  for (const Entry* entry : body) mark_writes(*entry, varying, true);
  bool loads = false, decides = false;
  // Twice: a round may decide by what the one before it loaded.
  for (int round = 0; round < 2; ++round) {
    for (const Entry* entry : body) {
      const Effects& e = entry->effects;
      const bool lds = e.unit == Unit::lds, load = is_load(*entry);
      const bool varies = reads_any(*entry, varying), from_memory = reads_any(*entry, loaded);
      const bool from_lds = reads_any(*entry, shared);
      if (lds ? reads_any(*entry, varying, is_address) : load && varies) return false;
      // Values that go from the LDS to the LDS, or change by themselves, are work.
      if (lds && e.stores && (from_lds || (varies && !from_memory))) return false;
      // A count that is compared with what memory has is work; one of its own is a limit, which a wait may have.
      const bool from_count = counts(*entry) || reads_any(*entry, counted);
      if (e.unit == Unit::branch && from_count && from_memory) return false;
      loads |= load;
      decides |= e.unit == Unit::branch && from_memory;
      mark_writes(*entry, counted, !load && !lds && from_count);
      mark_writes(*entry, varying, load || lds || varies);
      mark_writes(*entry, loaded, load || lds || from_memory);
      mark_writes(*entry, shared, lds || from_lds);
    }
  }
  return loads && decides;
}

}  // namespace rapt::sim::timing
