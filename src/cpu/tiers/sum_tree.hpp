// Sums over parts of the keys, added as a tree: parts 0 and 1, 2 and 3, then both sums, and so on. An aligned range of
// 2^n parts is a subtree, so the bits of the whole do not depend on how such ranges are shared out. A part that is
// skipped is no summand: a sum with one summand is that summand.
#pragma once

#include <utility>

#include "base/scratch.hpp"
#include "cpu/tiers/vec.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int kMostLevels = 24;  // of 2^31 keys

// The tree's left halves that wait for their right halves, one per level.
template <class Sum>
class Climb {
 public:
  void begin() { filled_ = 0; }
  // Summand `index` comes after smaller ones: calls add(left) for each left half that it completes, smallest first.
  template <class Add>
  RAPT_INLINE void lefts(int64_t index, const Add& add) const {
    for (int level = 0; index >> level & 1; ++level)
      if (filled_ >> level & 1) add(waiting_[level]);
  }
  // Swaps the sum of `index` and its lefts with the place where it waits.
  RAPT_INLINE void wait(int64_t index, Sum& sum) {
    int level = 0;
    for (; index >> level & 1; ++level) filled_ &= ~(1u << level);
    std::swap(waiting_[level], sum);
    filled_ |= 1u << level;
  }
  // At the end: calls add(left) for what waits, smallest first.
  template <class Add>
  RAPT_INLINE void rest(const Add& add) const {
    for (int level = 0; filled_ >> level != 0; ++level)
      if (filled_ >> level & 1) add(waiting_[level]);
  }
  Sum& place(int level) { return waiting_[level]; }

 private:
  Sum waiting_[kMostLevels];
  uint32_t filled_ = 0;
};

// sum = left + sum
RAPT_INLINE void add_floats(const float* left, int64_t count, float* sum) {
  for (int64_t i = 0; i < count; i += kLanes) store(sum + i, load(left + i) + load(sum + i));
}

// The tree over buffers of floats. Call begin; for each part in ascending order next, and end_part once it is summed;
// at last total.
class SumTree {
 public:
  struct Part {
    float* sum;  // the part's; the caller then adds the lefts to it, one by one
    const float* lefts[kMostLevels];
    int count;
  };

  SumTree(Scratch& carve, int64_t floats, int64_t parts) : floats_(floats) {
    for (int level = 0; parts > 0; parts /= 2) climb_.place(level++) = carve.take<float>(floats);
    part_ = carve.take<float>(floats);
  }

  void begin() { climb_.begin(); }
  Part next(int64_t index) const {
    Part part = {part_, {}, 0};
    climb_.lefts(index, [&](const float* left) { part.lefts[part.count++] = left; });
    return part;
  }
  void end_part(int64_t index) { climb_.wait(index, part_); }
  // At least one part has ended.
  float* total() const {
    float* sum = nullptr;
    climb_.rest([&](float* left) {
      if (sum) add_floats(left, floats_, sum);
      else sum = left;
    });
    return sum;
  }

 private:
  const int64_t floats_;  // whole vectors
  Climb<float*> climb_;
  float* part_;
};

}  // namespace rapt::cpu::RAPT_TIER
