// dQ of a block of queries, summed over ranges of keys by the items that own them, as the upper part of the tree of
// sum_tree.hpp. Where two halves meet, the first task to finish leaves its sum in memory; the second adds that sum to
// its own and goes on upwards. So no task waits, and no pass over all ranges follows.
#pragma once

#include "cpu/tiers/announce.hpp"
#include "cpu/tiers/sum_tree.hpp"

namespace rapt::cpu::RAPT_TIER {

struct RangeSums {
  float* partial;  // [ranges][stride]: a subtree's sum is at its first range
  int64_t stride, floats;
  int32_t* met;         // [ranges]: two halves meet at the first range of the right one
  int64_t first, last;  // ranges that the block attends

  // Adds the sums that other tasks left around `range` to its own. True if the block's sum is then complete.
  bool complete(int64_t range, float* sum) const {
    for (Subtree half = {range, 1}; climb(half); half = half.parent()) {
      const int64_t other = half.other();
      int32_t* here = met + std::max(half.first, other);
      if (!announced(here, 1)) {
        std::memcpy(partial + half.first * stride, sum, static_cast<size_t>(floats) * sizeof(float));
        if (!comes_second(here)) return false;
      }
      add_floats(partial + other * stride, floats, sum);
    }
    return true;
  }

  // The memory that `complete` will touch first, or null.
  const float* touched_first(int64_t range) const {
    Subtree half = {range, 1};
    if (!climb(half)) return nullptr;
    const int64_t other = half.other();
    return partial + (announced(met + std::max(half.first, other), 1) ? other : half.first) * stride;
  }

 private:
  struct Subtree {
    int64_t first, size;
    int64_t other() const { return first ^ size; }  // its parent's other half
    Subtree parent() const { return {first & ~size, 2 * size}; }
  };
  // Goes up to where the parent's other half is attended too; false if there is no such place.
  bool climb(Subtree& half) const {
    for (; half.first > first || half.first + half.size <= last; half = half.parent())
      if (half.other() <= last && half.other() + half.size > first) return true;
    return false;
  }
};

}  // namespace rapt::cpu::RAPT_TIER
