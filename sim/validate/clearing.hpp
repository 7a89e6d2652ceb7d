// Memory that is cleared before a kernel adds to it: AMD's tuners time it together with the kernel.
#pragma once

#include "sim/timing/chip.hpp"

#include <cstddef>

namespace rapt::sim::validate {

// The time of a launch that writes `bytes` bytes as fast as memory takes them; 0 if there are none.
inline double clearing_microseconds(const timing::Chip& chip, std::size_t bytes) {
  if (bytes == 0) return 0;
  const double gigabytes = chip.memory_gigabytes * chip.memory_efficiency;
  return chip.launch_microseconds + chip.memory_nanoseconds / 1e3 + static_cast<double>(bytes) / (gigabytes * 1e3);
}

}  // namespace rapt::sim::validate
