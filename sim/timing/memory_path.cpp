#include "sim/timing/memory_path.hpp"

namespace rapt::sim::timing {

Shares shares_of(const Chip& chip, double clock_mhz, double busy_units, double busy_units_of_die) {
  const double per_clock = chip.memory_efficiency * 1000 / clock_mhz / busy_units;  // of a GB/s: bytes of each unit
  const double busy_of_array = std::min<double>(std::max(chip.units_per_array, 1U), busy_units_of_die);
  return {chip.array_bytes_per_clock / busy_of_array,
          std::min(chip.l2_unit_bytes_per_clock, chip.l2_bytes_per_clock / busy_units_of_die),
          std::min(chip.l2_unit_bytes_per_clock, chip.last_level_gigabytes * per_clock),
          std::min(chip.l2_unit_bytes_per_clock, chip.memory_gigabytes * per_clock),
          chip.last_level_nanoseconds * clock_mhz / 1000,
          chip.memory_nanoseconds * clock_mhz / 1000};
}

MemoryPath::MemoryPath(const Chip& chip, const Shares& shares, Service& service)
    : chip_(chip),
      service_(service),
      compute_units_(compute_units_per_unit(chip), {Cache(chip.l1_bytes, chip.l1_ways, chip.line_bytes),
                                                    std::vector<double>(std::max(chip.lines_in_flight, 1U))}),
      array_(shares.array),
      l2_(shares.l2),
      last_(shares.last),
      memory_(shares.memory),
      last_clocks_(shares.last_clocks),
      memory_clocks_(shares.memory_clocks) {}

void MemoryPath::share(const Shares& shares) {
  array_.rate(shares.array);
  l2_.rate(shares.l2);
  last_.rate(shares.last);
  memory_.rate(shares.memory);
}

Clock MemoryPath::accepts(unsigned compute_unit) const {
  constexpr double waiting = 64;  // clocks of address work that the unit's buffer holds
  const double free = compute_units_[compute_unit].address_free;
  return free < waiting ? 0 : static_cast<Clock>(free - waiting);
}

// A miss that L1 has no room for waits, and with it all that comes after it.
double MemoryPath::load(ComputeUnit& unit, std::uint64_t line, std::uint32_t slot, const Step& step, double& at) {
  if (unit.l1.touch(line)) return at + chip_.l1_clocks;
  double& oldest = unit.misses[unit.oldest_miss];
  unit.oldest_miss = (unit.oldest_miss + 1) % unit.misses.size();
  at = std::max(at, oldest);
  return oldest = beyond_l1(slot, step, at);
}

// L2 has the line of an atomic before it changes it, and writes it back later: it comes and goes.
double MemoryPath::beyond_l1(std::uint32_t slot, const Step& step, double at) {
  const double bytes = chip_.line_bytes, behind_l2 = step.atomic ? 2 * bytes : bytes;
  if (chip_.units_per_array != 0) at = array_.pass(at, bytes);
  const Level level = service_.next(slot, step.store);
  if (level == Level::array) return at + chip_.array_clocks;
  const double passed = l2_.pass(at, bytes);
  switch (level) {
    case Level::last: return last_.pass(passed, behind_l2) + last_clocks_;
    case Level::memory: return memory_.pass(passed, behind_l2) + memory_clocks_;
    default: return passed + chip_.l2_clocks;
  }
}

Clock MemoryPath::take(unsigned compute_unit, const WaveTrace& wave, const Request& request, std::uint32_t slot,
                       const Step& step, Clock at) {
  ComputeUnit& unit = compute_units_[compute_unit];
  const double begin = std::max(unit.address_free, static_cast<double>(at));
  // One line in a clock; the data passes at L1's rate.
  const double busy = std::max({static_cast<double>(step.address_clocks), static_cast<double>(request.lines),
                                request.bytes / chip_.l1_bytes_per_clock});
  double last = begin + busy, line_at = begin;
  for (unsigned n = 0; n < request.lines; ++n) {
    line_at = std::max(line_at, begin + n);
    last = std::max(last, step.store ? beyond_l1(slot, step, line_at)
                                     : load(unit, wave.lines[request.first_line + n], slot, step, line_at));
  }
  unit.address_free = std::max(begin + busy, line_at);
  const Clock end = static_cast<Clock>(last) + 1;
  ended_ = std::max(ended_, end);
  return end;
}

}  // namespace rapt::sim::timing
