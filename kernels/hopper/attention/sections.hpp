// Sums of dQ, a section of heads at a time (key_tiles.hpp). Zeros that are stored long before the first addition would
// go to memory and come back. So backward_statistics_hopper clears the sums of the first section only. While a section
// is computed, its first tiles' workgroups clear the next one's sums, which then are in L2. Without `clears_ahead`
// backward_statistics_hopper clears all of them.
//
// Tiles begin in order. A share is cleared when K of its tile arrives. So additions need not wait for a section's
// zeros, as a rule, and never for tiles after their own.
#pragma once

#include "kernels/hopper/attention/backward_shared.hpp"
#include "kernels/hopper/isa/bulk_copy.hpp"
#include "kernels/hopper/isa/counter.hpp"

namespace rapt::nvidia {

inline constexpr int kBlockFloats = kGroupRows * 64;  // of sums, which lie one after another

class Sections {
 public:
  DEVICE_MEMBER explicit Sections(Args& a) : a_(a), tiles_(a.heads_at_once * a.backward.tiles) {}

  // Clears the share of the tile at this place of the next section's sums.
  DEVICE_MEMBER void clear_ahead(int place, uint32_t zeros) const {
    Problem& p = a_.backward.problem;
    const int next = place / tiles_ + 1, share = place % tiles_, first_head = next * a_.heads_at_once;
    const int heads = min(a_.heads_at_once, p.heads_k * p.batch - first_head);
    if (!a_.clears_ahead || heads <= 0 || share >= shares()) return;
    const int64_t of_head = p.group * a_.backward.statistics.head * a_.backward.dq_sum.dims / kBlockFloats;
    float* const sums = a_.backward.dq_sum.data + first_head * of_head * kBlockFloats;
    const int64_t end = heads * of_head * (share + 1) / shares();
#pragma unroll 1
    for (int64_t block = heads * of_head * share / shares(); block < end; ++block)
#pragma unroll 1
      for (int i = 0; i < kBlockFloats * static_cast<int>(sizeof(float)); i += kZeroBytes)
        store_bytes(zeros, reinterpret_cast<char*>(sums + block * kBlockFloats) + i, kZeroBytes);
    stores_end();
    wait_for_stores();
    Counter{cleared(next)}.add();
  }
  // Waits until the sums of the tile's section are clear.
  DEVICE_MEMBER void wait_until_clear(int place) {
    const int section = place / tiles_;
    if (!a_.clears_ahead || section == clear_) return;
    Counter{cleared(section)}.wait_for(shares());
    clear_ = section;
  }

 private:
  // The first half of a section's tiles clear, so that the last of them are done when the section is.
  DEVICE_MEMBER int shares() const { return (tiles_ + 1) / 2; }
  DEVICE_MEMBER int* cleared(int section) const { return a_.counters + 2 + section; }

  Args& a_;
  const int tiles_;  // of each section that has a next one
  int clear_ = 0;    // the last section that was found clear
};

}  // namespace rapt::nvidia
