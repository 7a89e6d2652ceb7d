#include "sim/timing/stalls.hpp"

#include <numeric>

namespace rapt::sim::timing {

std::uint64_t SlotTime::clocks() const { return std::accumulate(stalled.begin(), stalled.end(), own); }

SlotTime& SlotTime::operator+=(const SlotTime& other) {
  issued += other.issued;
  taken += other.taken;
  own += other.own;
  for (unsigned s = 0; s < stall_count; ++s) stalled[s] += other.stalled[s];
  return *this;
}

}  // namespace rapt::sim::timing
