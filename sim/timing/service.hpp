// The level that serves what misses L1. A compute unit is timed alone, so the crowd says beforehand what its neighbours
// left in the L2 of their die. The crowd is the beginnings of all workgroups that are resident on a die at first.
#pragma once

#include "sim/timing/chip.hpp"
#include "sim/timing/step.hpp"
#include "sim/timing/trace.hpp"

#include <span>
#include <vector>

namespace rapt::sim::timing {

enum class Level : std::uint8_t { array, l2, last, memory };  // array: the cache of a shader array
inline constexpr unsigned level_count = 4;
std::string_view name(Level level);

struct CrowdGroup {
  const GroupTrace* trace;
  std::uint64_t instructions;  // of each wave, at most: what the wave does later is not looked at
};

class Service {
 public:
  // dies: for each of crowd_dies that the chip has, the groups in the order in which the units got them. later: groups
  // of the first die that are not resident at first. What they do that none of those did, they do with the caches that
  // the crowd left.
  Service(const Chip& chip, Steps& steps, std::span<const std::vector<CrowdGroup>> dies,
          std::span<const GroupTrace* const> later);

  // The level of the next line that misses L1 in this instruction. The levels of an instruction's lines alternate in
  // the crowd's proportions, or the later groups'. If neither reached the instruction, stores go to memory and loads
  // have the proportions of all instructions.
  Level next(std::uint32_t slot, bool store);

  double share(Level level) const;  // of all lines that missed L1
  // The share of all lines touched by the crowd of one of `dies` that came from memory.
  double memory_share(std::size_t crowd) const { return memory_shares_[crowd]; }

 private:
  struct Slot {
    std::uint64_t array_hits = 0, hits = 0, misses = 0;    // of the array's cache, and of L2
    double array_debt = 0, hit_debt = 0, memory_debt = 0;  // what next() owes
  };
  // The lines of L1's misses that the array's cache did not have; lines() is all of them.
  static std::uint64_t beyond_array(const Slot& slot) { return slot.hits + slot.misses; }
  static std::uint64_t lines(const Slot& slot) { return slot.array_hits + beyond_array(slot); }

  std::vector<Slot> slots_;
  Slot all_;                     // all instructions together, for the ones that the crowd did not reach
  double memory_of_misses_ = 1;  // the share of L2's misses that come from memory
  std::vector<double> memory_shares_;
};

}  // namespace rapt::sim::timing
