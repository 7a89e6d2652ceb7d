// What is recorded for each sixteen bytes of memory: the last accesses that can still race.
#pragma once

#include "sim/check/races/sync.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace rapt::sim {

// One recorded access.
struct RaceMark {
  // repeats: a store of what another group's store wrote, with nothing that orders the two.
  enum : std::uint8_t { writes = 1, atomic = 2, unknown_value = 4, repeats = 8 };
  Stamp clock = 0;
  std::uint32_t group = 0, waves = 0;  // one wave; several if they load the same bytes by the same instruction
  std::uint32_t slot = 0;              // of the instruction
  std::uint16_t bytes = 0;             // of the sixteen; 0: a free place
  std::uint8_t kind = 0;
};

// The latest access of sixteen bytes; small and fast to compare, since most accesses need no more.
struct RaceGranule {
  static constexpr unsigned size = 16;
  // Kinds of `others`. newer: stamps later than this one.
  static constexpr std::uint8_t loads = 1, writers = 2, newer = 4, any = 0xff;
  // An instruction at a stamp. A stamp belongs to one group, so the group only matters if the stamps differ.
  static constexpr std::uint64_t moment(Stamp clock, std::uint32_t slot) { return std::uint64_t{slot} << 32 | clock; }
  struct What {
    std::uint16_t bytes = 0;
    std::uint8_t kind = 0;
    std::uint8_t others = 0;  // which other accesses are recorded; writers: stores and atomics

    std::uint32_t bits() const { return std::bit_cast<std::uint32_t>(*this); }
  };

  std::uint64_t when = 0;
  std::uint32_t waves = 0;
  What what;

  Stamp clock() const { return static_cast<Stamp>(when); }
  std::uint32_t slot() const { return static_cast<std::uint32_t>(when >> 32); }
};
static_assert(sizeof(RaceGranule) == 16);

// Earlier accesses of a granule. If more can race than fit, the oldest load is dropped.
using RaceOthers = std::array<RaceMark, 3>;

// The shadow of a piece of memory.
class RaceShadow {
 public:
  enum class Of : std::uint8_t { one_group, many_groups };
  RaceShadow(std::size_t granules, Of groups)
      : granules_(new RaceGranule[granules]{}),
        groups_(groups == Of::many_groups ? new std::uint32_t[granules] : nullptr),
        count_(granules) {}

  RaceGranule* granules() { return granules_.get(); }
  // The groups of the latest accesses; null if only one group has any.
  std::uint32_t* groups() { return groups_.get(); }
  // Earlier accesses of a granule; stale if the granule says that there are none.
  RaceOthers& others(std::size_t granule) {
    if (!others_) others_.reset(new RaceOthers[count_]);
    return others_[granule];
  }
  // What plain stores wrote, byte by byte.
  unsigned char* values() {
    if (!values_) values_.reset(new unsigned char[count_ * RaceGranule::size]);
    return values_.get();
  }
  void forget() { std::fill_n(granules_.get(), count_, RaceGranule{}); }

 private:
  std::unique_ptr<RaceGranule[]> granules_;
  std::unique_ptr<std::uint32_t[]> groups_;
  std::unique_ptr<RaceOthers[]> others_;
  std::unique_ptr<unsigned char[]> values_;
  std::size_t count_;
};

struct RacePage {
  static constexpr unsigned size = 4096, granules = size / RaceGranule::size;
  SpinLock lock;
  std::uint64_t number = 0;  // address / size
  RaceShadow shadow{granules, RaceShadow::Of::many_groups};
};

}  // namespace rapt::sim
