// Sums over parts of the keys, added as a tree: parts 0 and 1, 2 and 3, then both sums, and so on. An aligned range of
// 2^n parts is a subtree, so the bits of the whole do not depend on how such ranges are shared out. Parts that are left
// out are left out of the tree: a sum with one summand is that summand.
#pragma once

#include <utility>

#include "base/scratch.hpp"
#include "cpu/tiers/vec.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int kMostLevels = 32;

RAPT_INLINE void add_floats(const float* left, const float* right, int64_t count, float* sum) {
  for (int64_t i = 0; i < count; i += kLanes) store(sum + i, load(left + i) + load(right + i));
}

// The tree's left halves that wait for their right halves, one per level. `Sum` is swapped and added to.
template <class Sum, class Add>
RAPT_INLINE void climb(Sum* waiting, uint32_t& filled, int64_t index, Sum& sum, const Add& add) {
  int level = 0;
  for (; index >> level & 1; ++level) {
    if (!(filled >> level & 1)) continue;
    add(waiting[level], sum);
    filled &= ~(1u << level);
  }
  std::swap(waiting[level], sum);
  filled |= 1u << level;
}

// Of buffers of floats. Used as: begin, then for ascending parts next and end_part, then total.
class SumTree {
 public:
  SumTree(Scratch& carve, int64_t floats, int64_t parts) : floats_(floats) {
    int level = 0;
    for (; parts > 0; parts /= 2) waiting_[level++] = carve.take<float>(floats);
    part_ = carve.take<float>(floats);
  }

  void begin() { filled_ = 0; }
  // Where part `index` is to be summed, and null; or where its left neighbour's sum is, to which it is to be added, and
  // a spare buffer.
  std::pair<float*, float*> next(int64_t index) {
    if (!(index & filled_ & 1)) return {part_, nullptr};
    std::swap(part_, waiting_[0]);
    filled_ &= ~1u;
    return {part_, waiting_[0]};
  }
  void end_part(int64_t index) {
    climb(waiting_, filled_, index, part_,
          [this](const float* left, float* sum) { add_floats(left, sum, floats_, sum); });
  }
  // At least one part has ended.
  const float* total() const {
    float* sum = nullptr;
    for (int level = 0; filled_ >> level != 0; ++level) {
      if (!(filled_ >> level & 1)) continue;
      if (sum) add_floats(waiting_[level], sum, floats_, waiting_[level]);
      sum = waiting_[level];
    }
    return sum;
  }

 private:
  const int64_t floats_;  // whole vectors
  float* waiting_[kMostLevels] = {};
  float* part_;
  uint32_t filled_ = 0;
};

}  // namespace rapt::cpu::RAPT_TIER
