// The bytes that the lanes of an access touch, in pieces as long as possible.
#pragma once

#include "sim/machine/memory/flat_access.hpp"

namespace rapt::sim {

// Adjacent bytes of adjacent lanes.
struct RaceRun {
  std::uint64_t begin, end;
  unsigned first_lane, end_lane;
};

class RaceLanes {
 public:
  explicit RaceLanes(const Access& access) : at_(access.at), lanes_(access.lanes), bytes_(access.bytes) {}

  // Parts of a loaded matrix: if every lane of one half accesses the bytes next to a lane's bytes in the other half,
  // the two are merged, up to `most` bytes.
  void join_halves(unsigned wave_lanes, unsigned most);
  // Whether each lane accesses `bytes` bytes, aligned to that size.
  bool are_pieces(unsigned bytes) const;

  std::uint64_t lanes() const { return lanes_; }
  std::uint64_t at(unsigned lane) const { return at_[lane]; }
  // Takes the first lanes of `rest` that form a run. In loads, several lanes may have the same bytes.
  RaceRun take_run(std::uint64_t& rest, bool stores) const {
    const auto first = static_cast<unsigned>(std::countr_zero(rest));
    std::uint64_t end = at_[first] + bytes_;
    unsigned lane = first + 1;
    for (; lane < 64 && (rest >> lane & 1) != 0; ++lane) {
      if (at_[lane] == end) end += bytes_;
      else if (stores || at_[lane] != at_[lane - 1]) break;
    }
    rest = lane == 64 ? 0 : rest >> lane << lane;
    return {at_[first], end, first, lane};
  }

 private:
  const u64* at_;
  u64 lanes_;
  unsigned bytes_;
  u64 joined_[32];
};

}  // namespace rapt::sim
