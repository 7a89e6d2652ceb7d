// What the workgroups of one launch share to find their races: stamps, releases, and the shadow of global memory.
#pragma once

#include "sim/check/races/shadow.hpp"

#include <deque>
#include <unordered_map>

namespace rapt::sim {

class RaceLaunch {
 public:
  RaceLaunch() = default;
  ~RaceLaunch();
  RaceLaunch(const RaceLaunch&) = delete;
  RaceLaunch& operator=(const RaceLaunch&) = delete;

  StampSource stamps;
  SyncTable atomics{1 << 14};

  std::uint32_t add_group(std::array<std::uint32_t, 3> id);
  std::array<std::uint32_t, 3> group_id(std::uint32_t group);
  // What a group's waves know, for waves that see one of its stores which is not marked as atomic.
  void publish(std::uint32_t group, Stamp barrier, const std::shared_ptr<const Known>& known);
  Release release_at(std::uint32_t group, unsigned wave, Stamp clock);

  // The page of an address. After locking it, check that it still has that number: beyond the limit, pages are reused
  // for other addresses.
  RacePage& page(std::uint64_t number);

 private:
  static constexpr std::size_t page_bytes =
      RacePage::granules * (sizeof(RaceGranule) + sizeof(RaceOthers) + sizeof(std::uint32_t)) + RacePage::size;
  static constexpr std::size_t page_limit = (std::size_t{512} << 20) / page_bytes;
  struct Group {
    std::array<std::uint32_t, 3> id{};
    std::array<Stamp, 8> barriers{};
    unsigned next = 0;
    std::shared_ptr<const Known> known;
  };

  std::mutex group_mutex_, page_mutex_;
  std::deque<Group> groups_;
  std::unordered_map<std::uint64_t, RacePage*> by_number_;
  std::vector<std::unique_ptr<RacePage>> pages_;
  std::size_t oldest_ = 0;
};

}  // namespace rapt::sim
