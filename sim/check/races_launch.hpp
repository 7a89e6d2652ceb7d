// What the workgroups of one launch share to find their races: stamps, releases, and the shadow of global memory.
#pragma once

#include "sim/check/races_sync.hpp"

#include <deque>
#include <unordered_map>

namespace rapt::sim {

// One access that is remembered.
struct RaceMark {
  enum : std::uint8_t { writes = 1, atomic = 2, unknown_value = 4 };
  Stamp clock = 0;
  std::uint32_t group = 0, waves = 0;  // one wave; several where they load the same bytes by the same instruction
  std::uint32_t slot = 0;              // of the instruction
  std::uint16_t bytes = 0;             // of the sixteen; 0: a free place
  std::uint8_t kind = 0;
};

// Sixteen bytes of memory: the last accesses that can still race. Where more than fit can, the oldest load is
// forgotten.
struct RaceGranule {
  static constexpr unsigned size = 16;
  std::array<RaceMark, 4> marks;
  std::array<unsigned char, size> value{};  // what plain stores left
};

struct RacePage {
  static constexpr unsigned size = 4096;
  SpinLock lock;
  std::uint64_t number = 0;  // address / size
  std::array<RaceGranule, size / RaceGranule::size> granules;
};

class RaceLaunch {
 public:
  StampSource stamps;
  SyncTable atomics{1 << 14};

  std::uint32_t add_group(std::array<std::uint32_t, 3> id);
  std::array<std::uint32_t, 3> group_id(std::uint32_t group);
  // What a group's waves know, for those that see a store of theirs which nothing marks as atomic.
  void publish(std::uint32_t group, Stamp barrier, const std::shared_ptr<const Known>& known);
  Release release_at(std::uint32_t group, unsigned wave, Stamp clock);

  // The page of an address. Whoever has locked it must look whether it still has that number: beyond the limit a page
  // is given to other addresses.
  RacePage& page(std::uint64_t number);

 private:
  static constexpr std::size_t page_limit = (std::size_t{512} << 20) / sizeof(RacePage);
  struct Group {
    std::array<std::uint32_t, 3> id{};
    std::array<Stamp, 8> barriers{};
    unsigned next = 0;
    std::shared_ptr<const Known> known;
  };

  std::mutex group_mutex_, page_mutex_;
  std::deque<Group> groups_;
  std::unordered_map<std::uint64_t, RacePage*> by_number_;
  std::deque<RacePage> pages_;
  std::size_t oldest_ = 0;
};

}  // namespace rapt::sim
