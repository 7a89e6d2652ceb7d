// What atomics release at each location: later atomics on the same location acquire it. The size is bounded: releases
// at many locations of one bucket share one vector clock, which may hide races but invents none.
#pragma once

#include "sim/check/races/clock.hpp"

#include <mutex>

namespace rapt::sim {

// A lock to be held for a few instructions.
class SpinLock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_;
};

class SyncTable {
 public:
  explicit SyncTable(unsigned buckets) : count_(buckets) {}  // a power of two

  void add(std::uint64_t address, const Release& release);
  // True if the wave learned something.
  bool acquire(std::uint64_t address, WaveClock& clock);
  // Whether the wave itself has done an atomic on the location.
  bool has(std::uint64_t address, std::uint32_t group, unsigned wave);

 private:
  static constexpr std::size_t recent_limit = 32;
  struct Record {
    std::uint64_t location;
    Release release;
  };
  struct Bucket {
    SpinLock lock;
    std::vector<Record> recent;
    std::shared_ptr<const Known> older;
  };
  // An 8-byte atomic and atomics on its halves have one location.
  static constexpr std::uint64_t location(std::uint64_t address) { return address >> 3; }
  Bucket& bucket(std::uint64_t location);

  unsigned count_;
  std::once_flag made_;
  std::unique_ptr<Bucket[]> buckets_;
};

}  // namespace rapt::sim
