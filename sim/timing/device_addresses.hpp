// Where allocations would be in the memory of a device of its own. On the host their addresses differ from run to run,
// and with them which lines share the sets of a cache.
#pragma once

#include "sim/timing/trace.hpp"

#include <unordered_map>

namespace rapt::sim::timing {

// Private memory has addresses of its own from here on (Recorder), so that it does not depend on the host's threads.
inline constexpr std::uint64_t private_memory = std::uint64_t{1} << 60;

class DeviceAddresses {
 public:
  explicit DeviceAddresses(unsigned line_bytes);

  // Moves the lines that a group touched. Allocations lie one after the other in the order in which they are first
  // touched, so groups must come in the same order in every run. Call it while they are allocated.
  void move(GroupTrace& group);

 private:
  std::uint64_t moved(std::uint64_t address);

  unsigned line_shift_;
  std::uint64_t end_ = 0;                                    // of all allocations
  std::unordered_map<std::uint64_t, std::uint64_t> places_;  // of allocations, by their host address
  std::unordered_map<std::uint64_t, std::uint64_t> pages_;   // by the host's number of each
};

}  // namespace rapt::sim::timing
