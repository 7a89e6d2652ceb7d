// The instruction cache of a unit: whether the line that a wave comes to is there, and when it will be.
#pragma once

#include "sim/timing/cache.hpp"
#include "sim/timing/chip.hpp"
#include "sim/timing/memory_path.hpp"

namespace rapt::sim::timing {

class InstructionFetch {
 public:
  InstructionFetch(const Chip& chip, std::size_t slots)
      : cache_(chip.instruction_bytes, chip.instruction_ways, chip.instruction_line_bytes),
        line_slots_(chip.instruction_line_bytes / 4),
        miss_clocks_(chip.l2_clocks),
        arrivals_(slots / line_slots_ + 2) {}

  std::uint32_t line_of(std::uint32_t slot) const { return slot / line_slots_; }

  // The launch before ran the same code, so what this group does was done already.
  void warm(const GroupTrace& group) {
    for (const WaveTrace& wave : group.waves)
      for (std::uint32_t before = none; const std::uint32_t slot : wave.slots)
        if (const std::uint32_t line = line_of(slot); line != before) cache_.touch(before = line);
  }

  // When a wave that comes to the line now can go on. Its buffer asks for the next line, too.
  Clock reach(std::uint32_t line, Clock now) {
    const Clock there = ask(line, now);
    ask(line + 1, now);
    return there;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  Clock ask(std::uint32_t line, Clock now) {
    if (!cache_.touch(line)) arrivals_[line] = now + miss_clocks_;
    return arrivals_[line];
  }

  Cache cache_;
  std::uint32_t line_slots_;
  Clock miss_clocks_;
  std::vector<Clock> arrivals_;  // of each line, when it was last asked for
};

}  // namespace rapt::sim::timing
