// A wave's outstanding memory operations, by counter: when each will end is known when it begins.
#pragma once

#include "sim/timing/memory_path.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace rapt::sim::timing {

// One counter. Operations end in the order in which they began, but for scalar loads.
class Outstanding {
 public:
  void add(Clock end, bool in_order) {
    if (in_order && !ends_.empty()) end = std::max(end, ends_.back());
    ends_.insert(std::upper_bound(ends_.begin(), ends_.end(), end), end);
  }
  // When at most `count` are left.
  Clock at_most(std::size_t count) const { return ends_.size() <= count ? 0 : ends_[ends_.size() - count - 1]; }
  void retire(Clock now) {
    const auto left = std::upper_bound(ends_.begin(), ends_.end(), now);
    ends_.erase(ends_.begin(), left);
  }
  std::size_t size() const { return ends_.size(); }

 private:
  std::vector<Clock> ends_;  // ascending
};

}  // namespace rapt::sim::timing
