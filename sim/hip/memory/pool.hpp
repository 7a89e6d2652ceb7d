// Memory pools count what is allocated from them; freed memory is not kept for reuse.
#pragma once

#include "sim/hip/abi/memory.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace rapt::sim::hip {

struct Pool {
  explicit Pool(int device_) : device(device_) {}
  const int device;
  std::mutex mutex;
  std::size_t used = 0, highest = 0, limit = 0;  // limit 0: none
  std::uint64_t release_threshold = 0;
  int reuse[3] = {1, 1, 1};  // by attribute, from reuse_follow_event_dependencies

  void add(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    used += bytes;
    highest = std::max(highest, used);
  }
  void remove(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    used -= bytes;
  }
};

}  // namespace rapt::sim::hip
