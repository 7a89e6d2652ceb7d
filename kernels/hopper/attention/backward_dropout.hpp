// Dropout of backward_hopper.cu by four warps that do nothing else: its calls of Philox take about as long as the
// products of a step, and run beside them. Each warp has the keys of one warp of each group.
#pragma once

#include "kernels/hopper/attention/backward_shared.hpp"

namespace rapt::nvidia {

class Dropout {
 public:
  DEVICE_MEMBER Dropout(AllArgs& a, const Shared& shared) : p_(a.all.backward.problem), shared_(shared) {}

  DEVICE_MEMBER void run() {
    const RingK ring = shared_.k_ring();
#pragma unroll 1
    for (uint32_t n = 0;; ++n) {
      ring.wait_until_full(n);
      const KeyTile& tile = shared_.tile(n);  // stays until the third tile after it
      ring.give_back(n, thread_id() % kWave == 0);
      if (tile.steps == 0) break;
#pragma unroll 1
      for (int head = tile.block.head * p_.group; head < (tile.block.head + 1) * p_.group; ++head)
#pragma unroll 1
        for (int step = tile.begin_step; step != tile.end_step; step += tile.stride) make(tile.block, head, step);
    }
  }

 private:
  // What a step keeps.
  DEVICE_MEMBER void make(const Block& keys, int head, int step) {
    const RingKept ring = shared_.kept_ring();
    ring.wait_until_empty(fills_);
#pragma unroll 1
    for (int thread = thread_id() % kGroupThreads; thread < kGroups * kGroupThreads; thread += kGroupThreads) {
      const int key = keys.first_row + thread / kWave * kWarpRows;
      shared_.kept(fills_, thread) =
          kept_of_columns<kQueryTiles>(shared_.dropout(), p_.keep_threshold, keys.batch * p_.heads_q + head,
                                       step * kQueries, key, thread_id() % kWave);
    }
    wave_barrier();  // all lanes have stored
    ring.full(fills_++).arrive_if(thread_id() % kWave == 0);
  }

  Problem& p_;
  const Shared shared_;
  uint32_t fills_ = 0;
};

}  // namespace rapt::nvidia
