#include "sim/check/races/code.hpp"

#include "sim/machine/core/fault.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

bool overlap(const RegisterAccess& a, const RegisterAccess& b) {
  return a.file == b.file && a.first < b.first + b.count && b.first < a.first + a.count;
}

}  // namespace

std::string RaceCode::text(std::uint32_t slot) const { return print(program_.mode(), at(slot).instruction); }

bool RaceCode::polls(std::uint32_t slot) {
  const auto [found, fresh] = polls_.try_emplace(slot, false);
  if (fresh) found->second = in_polling_loop(slot);
  return found->second;
}

bool RaceCode::synchronises(std::uint32_t slot) {
  if (polls(slot)) return true;
  const auto [found, fresh] = swaps_.try_emplace(slot, false);
  if (fresh) found->second = before_swap(slot);
  return found->second;
}

bool RaceCode::in_polling_loop(std::uint32_t slot) const try {
  constexpr unsigned longest = 64;
  const std::uint64_t start = program_.base() + std::uint64_t{slot} * 4;
  std::uint64_t pc = start;
  for (unsigned n = 0; n < longest; ++n) {
    const Entry& entry = program_.at(pc);
    const std::uint64_t next = pc + entry.instruction.size;
    if (entry.effects.unit == Unit::branch && entry.instruction.immediate < 0) {
      const std::uint64_t target = next + static_cast<std::uint64_t>(std::int64_t{entry.instruction.immediate} * 4);
      if (target <= start) return repeats_unchanged(at(slot), target, pc);
    }
    pc = next;
  }
  return false;
} catch (const Fault&) {
  return false;  // data after the code
}

bool RaceCode::repeats_unchanged(const Entry& polled, std::uint64_t from, std::uint64_t to) const {
  for (std::uint64_t pc = from; pc <= to; pc += program_.at(pc).instruction.size) {
    const Entry& entry = program_.at(pc);
    const Effects& e = entry.effects;
    if (e.unit == Unit::barrier) return false;
    if (&entry != &polled && e.stores && e.unit != Unit::scratch) return false;
    for (const RegisterAccess& write : e.writes())
      for (const RegisterAccess& read : polled.effects.reads())
        if (read.use == Use::address && overlap(read, write)) return false;
  }
  return true;
}

bool RaceCode::before_swap(std::uint32_t slot) const try {
  constexpr unsigned farthest = 256;
  const bool lds = at(slot).effects.unit == Unit::lds;
  std::uint64_t pc = program_.base() + std::uint64_t{slot} * 4;
  for (unsigned n = 0; n < farthest; ++n) {
    const Entry& entry = program_.at(pc);
    const std::string_view name = entry.instruction.opcode->name;
    const bool swap = name.find("cmpswap") != name.npos || name.starts_with("ds_cmpst");
    if (swap && (entry.effects.unit == Unit::flat || lds == (entry.effects.unit == Unit::lds))) return true;
    pc += entry.instruction.size;
  }
  return false;
} catch (const Fault&) {
  return false;
}

}  // namespace rapt::sim
