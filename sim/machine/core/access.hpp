// One access of a wave to memory.
#pragma once

#include <bit>
#include <cstdint>

namespace rapt::sim {

enum class Space : std::uint8_t { global, lds, scratch };
enum class Action : std::uint8_t { load, store, atomic };

// Lane l of `lanes` touches `bytes` bytes from at[l] on.
struct Access {
  Space space;
  Action action;
  unsigned bytes;
  std::uint64_t lanes;
  const std::uint64_t* at;
  // For private memory, if an access that straddles dwords is done byte by byte: the bytes of the whole access.
  unsigned part_of = 0;
};

template <typename F>
inline void for_lanes(std::uint64_t lanes, F f) {
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<unsigned>(std::countr_zero(lanes)));
}

}  // namespace rapt::sim
