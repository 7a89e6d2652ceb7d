// When the waves of one compute unit issued their instructions, to be drawn.
#pragma once

#include "sim/timing/stalls.hpp"

namespace rapt::sim::timing {

struct Issue {
  std::uint64_t at = 0;       // clock
  std::uint32_t wave = 0;     // in the order in which the unit started them
  std::uint32_t slot = 0;     // in dwords from the start of the text
  std::uint32_t stalled = 0;  // clocks before it, for this reason
  Stall reason = Stall::issue;
};

struct Timeline {
  static constexpr std::size_t most = 100'000;  // instructions

  std::vector<Issue> issues;  // the unit's first ones, in order
  bool complete = true;       // these are all
  void add(const Issue& issue) {
    if (issues.size() < most) issues.push_back(issue);
    else complete = false;
  }
};

}  // namespace rapt::sim::timing
