// The warps of backward_hopper.cu that only copy.
#pragma once

#include "kernels/hopper/attention/backward_shared.hpp"
#include "kernels/hopper/isa/bulk_copy.hpp"
#include "kernels/hopper/isa/counter.hpp"

namespace rapt::nvidia {

// The feeding thread.
class Feeder {
 public:
  DEVICE_MEMBER Feeder(AllArgs& a, const Shared& shared) : a_(a.all), options_(a.scores), shared_(shared), tiles_(a) {}

  DEVICE_MEMBER void run() {
    int place = tiles_.first_place();
#pragma unroll 1
    while (true) {
      KeyTile& tile = shared_.tile(tiles_so_far_);  // not a copy: registers are few
      tile = tiles_.at(place);
      if (tile.steps == 0) break;
      if (tile.steps < 0) {
        place = tiles_.next_place();
        continue;
      }
      const int group = a_.backward.problem.group, steps = tile.steps * group;
      int step = tile.begin_step, head = tile.block.head * group;
      // The order in which the last tile gives room.
      load_k(tile);
      load_q(tile, step, head);
      load_v(tile);
#pragma unroll 1
      for (int left = steps; left > 0; --left) {
        // Not earlier, because workgroups should begin tiles in their order; not later, because it takes long.
        if (left == min(steps, kStages)) place = tiles_.next_place();
        load_dout(tile, step, head);
        step = tile.after(step);
        if (step == tile.begin_step) ++head;
        if (left > 1) load_q(tile, step, head);
      }
    }
    const RingK ring = shared_.k_ring();
    ring.wait_until_empty(tiles_so_far_);
    ring.full(tiles_so_far_).arrive();
  }

 private:
  DEVICE_MEMBER void load_k(const KeyTile& tile) const {
    const RingK ring = shared_.k_ring();
    ring.wait_until_empty(tiles_so_far_);
    load_keys(shared_.k(tiles_so_far_), a_.k, ring.full(tiles_so_far_), tile.block);
  }
  DEVICE_MEMBER void load_v(const KeyTile& tile) {
    const RingV ring = shared_.v_ring();
    ring.wait_until_empty(tiles_so_far_);
    load_keys(shared_.v(), a_.v, ring.full(tiles_so_far_), tile.block);
    ++tiles_so_far_;
  }
  // Packed sequences are one in their map.
  DEVICE_MEMBER void load_keys(const PanelsK& to, const rapt_abi_tensor_map& map, Barrier arrival,
                               const Block& keys) const {
    const int batch = a_.backward.problem.cu_seqlens_k == nullptr ? keys.batch : 0;
    to.load(map, arrival, keys.k.first + keys.first_row, keys.head, batch);
  }
  DEVICE_MEMBER void load_queries(const PanelsQ& to, const rapt_abi_tensor_map& map, Barrier arrival, const Block& keys,
                                  int step, int head) const {
    const int batch = a_.backward.problem.cu_seqlens_q == nullptr ? keys.batch : 0;
    to.load(map, arrival, keys.q.first + step * kQueries, head, batch);
  }
  // Q with the statistics, then what the options need.
  DEVICE_MEMBER void load_q(const KeyTile& tile, int step, int head) {
    const RingQ ring = shared_.q_ring();
    const uint32_t stage = RingQ::stage(fills_of_q_);
    ring.wait_until_empty(fills_of_q_);
    const Barrier arrival = ring.full(fills_of_q_);
    load_queries(shared_.q(stage), a_.q, arrival, tile.block, step, head);
    if constexpr (kScores) {
      Problem& p = a_.backward.problem;
      const int batch = tile.block.batch;
      if (step == tile.begin_step) slope_ = slope_of(p, head, batch);
      shared_.step(fills_of_q_) = {step * kQueries, batch * p.heads_q + head, slope_};
    }
    arrival.arrive_expecting(kStatisticsBytes);
    copy_bytes(shared_.address + Shared::kStatistics + stage * kStatisticsBytes,
               PaddedRows(a_.backward).statistics(tile.block, head, step * kQueries), kStatisticsBytes, arrival);
    if (kScores && has_tiles(options_)) {
      shared_.score_ring().wait_until_empty(fills_of_q_);
      shared_.scores(fills_of_q_)
          .load(options_, shared_.score_ring().full(fills_of_q_),
                {tile.block.first_row, step * kQueries, head, tile.block.batch});
    }
    ++fills_of_q_;
  }
  DEVICE_MEMBER void load_dout(const KeyTile& tile, int step, int head) {
    const RingQ ring = shared_.dout_ring();
    const uint32_t fill = fills_of_q_ - 1;  // Q of the step came before
    ring.wait_until_empty(fill);
    load_queries(shared_.dout(RingQ::stage(fill)), a_.dout, ring.full(fill), tile.block, step, head);
  }

  Args& a_;
  Options& options_;
  const Shared shared_;
  const KeyTiles<kKeys, kQueries> tiles_;
  uint32_t tiles_so_far_ = 0, fills_of_q_ = 0;
  float slope_;  // of the head of q's fills
};

// The thread that adds a group's dQ to memory. The first tile that has a part of some rows stores it: nothing needs to
// be cleared. The others add once that store is done.
class Adder {
 public:
  DEVICE_MEMBER Adder(AllArgs& a, const Shared& shared, int group)
      : a_(a.all), shared_(shared), group_(group), tiles_(a) {}

  DEVICE_MEMBER void run() {
    const RingK ring = shared_.k_ring();
#pragma unroll 1
    for (uint32_t n = 0;; ++n) {
      ring.wait_until_full(n);
      const KeyTile& tile = shared_.tile(n);  // stays until the third tile after it
      ring.give_back(n, true);
      if (tile.steps == 0) break;
      const int heads = a_.backward.problem.group, number = tile.block.first_row / kKeys;
      const int end_before = a_.in_order ? tiles_.end_before(tile.block) : 0;
#pragma unroll 1
      for (int head = tile.block.head * heads; head < (tile.block.head + 1) * heads; ++head)
#pragma unroll 1
        for (int step = tile.begin_step; step != tile.end_step; step += tile.stride) {
          const int64_t row = PaddedRows(a_.backward).index(tile.block, head, step * kQueries);
          if (a_.in_order) add_in_order(row, step < end_before, number);
          else add(row);
        }
    }
    wait_for_stores();
  }

 private:
  static constexpr int kNone = 0, kTaken = 1, kStored = 2;  // what the counter says

  // A counter for the part of dQ: of 64 rows, or of half of their dims.
  DEVICE_MEMBER Counter counter_of(int64_t row) const {
    return {a_.added + row / (kGroupRows / 2) + (kSplitsDims ? 1 : 2) * group_};
  }
  DEVICE_MEMBER float* sums(int64_t row) const {
    return a_.backward.dq_sum.data + row * kHeadDim + group_ * (kSumBytes / 4);
  }

  DEVICE_MEMBER void add(int64_t row) {
    const RingSums ring = shared_.sums_ring(group_);
    const Counter counter = counter_of(row);
    const bool stored = counter.is_at_least(kStored);  // as a rule, and there is time for it now
    ring.wait_until_full(fills_);
    const bool stores = !stored && counter.take(kNone, kTaken);
    if (!stored && !stores) counter.wait_for(kStored);
    move(row, stores);
    if (!stores) return;
    wait_for_stores();
    counter.set(kStored);
  }
  // After the tile before, if that one attends these queries.
  DEVICE_MEMBER void add_in_order(int64_t row, bool waits, int number) {
    const Counter counter = counter_of(row);
    shared_.sums_ring(group_).wait_until_full(fills_);
    if (waits) counter.wait_for(number);
    move(row, !waits);
    wait_for_stores();
    counter.set(number + 1);
  }
  DEVICE_MEMBER void move(int64_t row, bool stores) {
    if (stores) store_bytes(shared_.sums(group_), sums(row), kSumBytes);
    else add_floats(shared_.sums(group_), sums(row), kSumBytes);
    stores_end();
    wait_for_reads();
    shared_.sums_ring(group_).give_back(fills_++, true);
  }

  Args& a_;
  const Shared shared_;
  const int group_;
  const KeyTiles<kKeys, kQueries> tiles_;
  uint32_t fills_ = 0;
};

}  // namespace rapt::nvidia
