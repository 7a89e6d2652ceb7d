// The tags of a cache: sets of ways, the least recently used one is replaced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rapt::sim::timing {

class Cache {
 public:
  Cache(std::uint64_t bytes, unsigned ways, unsigned line_bytes)
      : ways_(ways), sets_(std::max<std::uint64_t>(1, bytes / line_bytes / ways)), lines_(sets_ * ways, none) {}

  // Whether the line was there; it is the latest one of its set now.
  bool touch(std::uint64_t line) {
    std::uint64_t* const set = &lines_[hash(line) % sets_ * ways_];
    std::uint64_t* const found = std::find(set, set + ways_, line);
    const bool hit = found != set + ways_;
    for (std::uint64_t* way = hit ? found : set + ways_ - 1; way != set; --way) *way = way[-1];
    *set = line;
    return hit;
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  // Power-of-two strides would otherwise fall into few sets; hardware hashes too.
  static std::uint64_t hash(std::uint64_t line) { return line ^ line >> 7 ^ line >> 15 ^ line >> 23; }

  unsigned ways_;
  std::uint64_t sets_;
  std::vector<std::uint64_t> lines_;  // of each set, the latest first
};

}  // namespace rapt::sim::timing
