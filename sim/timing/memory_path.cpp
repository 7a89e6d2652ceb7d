#include "sim/timing/memory_path.hpp"

namespace rapt::sim::timing {

Shares shares_of(const Chip& chip, double clock_mhz, unsigned busy_units, unsigned busy_units_of_die) {
  const double per_clock = chip.memory_efficiency * 1000 / clock_mhz / busy_units;  // of a GB/s: bytes of each unit
  return {std::min(chip.l2_unit_bytes_per_clock, chip.l2_bytes_per_clock / busy_units_of_die),
          std::min(chip.l2_unit_bytes_per_clock, chip.last_level_gigabytes * per_clock),
          std::min(chip.l2_unit_bytes_per_clock, chip.memory_gigabytes * per_clock),
          chip.last_level_nanoseconds * clock_mhz / 1000, chip.memory_nanoseconds * clock_mhz / 1000};
}

MemoryPath::MemoryPath(const Chip& chip, const Shares& shares, Service& service)
    : chip_(chip),
      service_(service),
      l1_(chip.l1_bytes, chip.l1_ways, chip.line_bytes),
      l2_(shares.l2),
      last_(shares.last),
      memory_(shares.memory),
      last_clocks_(shares.last_clocks),
      memory_clocks_(shares.memory_clocks) {}

Clock MemoryPath::accepts() const {
  constexpr double waiting = 64;  // clocks of address work that the unit's buffer holds
  return address_free_ < waiting ? 0 : static_cast<Clock>(address_free_ - waiting);
}

double MemoryPath::fetch(std::uint64_t line, std::uint32_t slot, bool store, double at) {
  if (!store && l1_.touch(line)) return at + chip_.l1_clocks;
  const double bytes = chip_.line_bytes;
  double passed = l2_.pass(at, bytes);
  switch (service_.next(slot)) {
    case Level::l2: return passed + chip_.l2_clocks;
    case Level::last: return last_.pass(passed, bytes) + last_clocks_;
    case Level::memory: return memory_.pass(passed, bytes) + memory_clocks_;
  }
  return passed;
}

Clock MemoryPath::take(const WaveTrace& wave, const Request& request, std::uint32_t slot, bool store, Clock at) {
  const double begin = std::max(address_free_, static_cast<double>(at));
  // A quarter of a wave's lanes, or one line, in a clock; the data passes at L1's rate.
  const double busy = std::max({4.0, static_cast<double>(request.lines), request.bytes / chip_.l1_bytes_per_clock});
  address_free_ = begin + busy;
  double last = begin + busy;
  for (unsigned n = 0; n < request.lines; ++n)
    last = std::max(last, fetch(wave.lines[request.first_line + n], slot, store, begin + n));
  return static_cast<Clock>(last) + 1;
}

}  // namespace rapt::sim::timing
