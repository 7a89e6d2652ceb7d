#include "sim/timing/wait_loop.hpp"

#include "sim/machine/core/fault.hpp"

#include <algorithm>
#include <bitset>
#include <vector>

namespace rapt::sim::timing {
namespace {

constexpr unsigned scc = sreg::count, vgprs = scc + 1, agprs = vgprs + 256;

class Registers {
 public:
  void set(const RegisterAccess& access, bool value) {
    for (unsigned n = 0; n < access.count; ++n) bits_.set(first(access) + n, value);
  }
  bool any(const RegisterAccess& access) const {
    for (unsigned n = 0; n < access.count; ++n)
      if (bits_.test(first(access) + n)) return true;
    return false;
  }

 private:
  static unsigned first(const RegisterAccess& access) {
    switch (access.file) {
      case RegisterFile::sgpr: return access.first;
      case RegisterFile::scc: return scc;
      case RegisterFile::vgpr: return vgprs + access.first;
      case RegisterFile::agpr: return agprs + access.first;
    }
    return scc;
  }
  std::bitset<agprs + 256 + 16> bits_;
};

bool reads_any(const Entry& entry, const Registers& registers) {
  const auto reads = entry.effects.reads();
  return std::any_of(reads.begin(), reads.end(), [&](const RegisterAccess& read) { return registers.any(read); });
}

void mark_writes(const Entry& entry, Registers& registers, bool value) {
  for (const RegisterAccess& write : entry.effects.writes()) registers.set(write, value);
}

// A compare-and-swap is a load until it succeeds.
bool is_load(const Effects& e, std::string_view name) {
  return e.loads && e.unit != Unit::lds && (!e.stores || name.find("cmpswap") != name.npos);
}

bool may_wait(const Entry& entry) {
  const std::string_view name = entry.instruction.opcode->name;
  const Effects& e = entry.effects;
  switch (e.unit) {
    case Unit::matrix:
    case Unit::lds:
    case Unit::barrier:
    case Unit::message: return false;
    case Unit::branch: return branch_target(entry).has_value();
    default: return (!e.stores && !e.atomic) || is_load(e, name);
  }
}

// The loop's instructions; none if one of them does what no waiting loop does.
std::vector<const Entry*> waiting_body(const Program& program, CodeLoop loop) {
  std::vector<const Entry*> body;
  try {
    for (std::uint32_t slot = loop.head; slot <= loop.latch; slot += body.back()->instruction.size / 4) {
      body.push_back(&program.at(program.base() + 4 * std::uint64_t{slot}));
      if (!may_wait(*body.back())) return {};
    }
  } catch (const Fault&) {  // something between its instructions that is none
    return {};
  }
  return body;
}

}  // namespace

std::optional<std::uint32_t> branch_target(const Entry& entry) {
  const std::string_view name = entry.instruction.opcode->name;
  if (!name.starts_with("s_branch") && !name.starts_with("s_cbranch")) return std::nullopt;
  return static_cast<std::uint32_t>(std::int64_t{entry.slot} + entry.instruction.size / 4 +
                                    entry.instruction.immediate);
}

bool is_wait_loop(const Program& program, CodeLoop loop) {
  const std::vector<const Entry*> body = waiting_body(program, loop);
  Registers varying, loaded;  // what differs from round to round; what comes from memory
  for (const Entry* entry : body) mark_writes(*entry, varying, true);
  bool loads = false, decides = false;
  // Twice: a round may decide by what the one before it loaded.
  for (int round = 0; round < 2; ++round) {
    for (const Entry* entry : body) {
      const bool load = is_load(entry->effects, entry->instruction.opcode->name);
      const bool varies = reads_any(*entry, varying), from_memory = reads_any(*entry, loaded);
      if (load && varies) return false;
      loads |= load;
      decides |= entry->effects.unit == Unit::branch && from_memory;
      mark_writes(*entry, varying, load || varies);
      mark_writes(*entry, loaded, load || from_memory);
    }
  }
  return loads && decides;
}

}  // namespace rapt::sim::timing
