// Slices of 64 queries, of heads with few keys. All tiles of a head's keys fit shared memory, so they are copied once
// for all its queries. Each group of warps has slices of its own, one after another: groups need not wait for one
// another, and are at different parts of their work.
#pragma once

#include "kernels/hopper/arguments.h"
#include "kernels/hopper/attention/turns.hpp"

namespace rapt::nvidia {

// The number, within its head, of a part's i-th slice.
DEVICE int slice_of(const rapt_hopper_slices& slices, int part, int i) { return (part + 1) * slices.count - 1 - i; }

// The slices of a workgroup, from number `first` on, each `step`-th. A head's last ones, which may have more keys, come
// first.
class SliceTurns {
 public:
  static constexpr bool kSlices = true;

  DEVICE_MEMBER SliceTurns(const rapt_hopper_forward_scores_args& a, int first, int step)
      : turns_(a.all.turns), slices_(a.slices), next_(first), step_(step) {}

  DEVICE_MEMBER Block next_block(Problem& p, int rows) {
    const int part = next_ / slices_.count * workgroups() + workgroup_id(), head = part / turns_.tiles;
    const int slice = slice_of(slices_, part % turns_.tiles, next_ % slices_.count);
    next_ += step_;
    if (head >= turns_.heads) return {-1};
    return block_at(p, {0, head % p.heads_q, head / p.heads_q}, slice * rows);
  }

  // How many tiles of keys are copied before the n-th slice's.
  DEVICE_MEMBER uint32_t copied(uint32_t n) const { return n / slices_.count * slices_.tiles; }

 private:
  const rapt_abi_turns& turns_;
  const rapt_hopper_slices& slices_;
  int next_, step_;
};

}  // namespace rapt::nvidia
