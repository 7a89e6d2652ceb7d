// The warps of backward_hopper.cu that only copy.
#pragma once

#include "kernels/hopper/attention/sections.hpp"

namespace rapt::nvidia {

// The feeding thread.
class Feeder {
 public:
  DEVICE_MEMBER Feeder(AllArgs& a, const Shared& shared)
      : a_(a.all), options_(a.scores), shared_(shared), tiles_(a.all) {}

  DEVICE_MEMBER void run() {
    int place = tiles_.first_place();
#pragma unroll 1
    for (KeyTile tile = tiles_.at(place); tile.steps > 0; tile = tiles_.at(place)) {
      tile.next = place = tiles_.next_place();  // early, because it takes long
      const int group = a_.backward.problem.group;
      int step = tile.first_step, head = tile.head * group;
      // The order in which the last tile gives room.
      load_k(tile);
      load_q(tile, step, head);
      load_v(tile);
#pragma unroll 1
      for (int left = tile.steps * group; left > 0; --left) {
        load_dout(step, head, tile.batch);
        if (++step == tile.first_step + tile.steps) step = tile.first_step, ++head;
        if (left > 1) load_q(tile, step, head);
      }
    }
    const RingK ring = shared_.k_ring();
    ring.wait_until_empty(tiles_so_far_);
    shared_.tile(tiles_so_far_) = {};
    ring.full(tiles_so_far_).arrive();
  }

 private:
  DEVICE_MEMBER void load_k(const KeyTile& tile) const {
    const RingK ring = shared_.k_ring();
    ring.wait_until_empty(tiles_so_far_);
    shared_.tile(tiles_so_far_) = tile;
    shared_.k(tiles_so_far_).load(a_.k, ring.full(tiles_so_far_), tile.first_key, tile.head, tile.batch);
  }
  DEVICE_MEMBER void load_v(const KeyTile& tile) {
    const RingV ring = shared_.v_ring();
    ring.wait_until_empty(tiles_so_far_);
    shared_.v().load(a_.v, ring.full(tiles_so_far_), tile.first_key, tile.head, tile.batch);
    ++tiles_so_far_;
  }
  // Q with the statistics, then what the options need.
  DEVICE_MEMBER void load_q(const KeyTile& tile, int step, int head) {
    const RingQ ring = shared_.q_ring();
    const uint32_t stage = RingQ::stage(fills_of_q_);
    ring.wait_until_empty(fills_of_q_);
    const Barrier arrival = ring.full(fills_of_q_);
    shared_.q(stage).load(a_.q, arrival, step * kQueries, head, tile.batch);
    if constexpr (kScores) {
      Problem& p = a_.backward.problem;
      if (step == tile.first_step) head_ = {tile.batch * p.heads_q + head, slope_of(p, head, tile.batch)};
      shared_.head(fills_of_q_) = head_;
    }
    arrival.arrive_expecting(kStatisticsBytes);
    copy_bytes(shared_.address + Shared::kStatistics + stage * kStatisticsBytes,
               statistics_of(a_.backward, tile.batch, {step * kQueries}, head), kStatisticsBytes, arrival);
    if (kScores && has_tiles(options_)) {
      shared_.score_ring().wait_until_empty(fills_of_q_);
      shared_.scores(fills_of_q_)
          .load(options_, shared_.score_ring().full(fills_of_q_), {tile.first_key, step * kQueries, head, tile.batch});
    }
    ++fills_of_q_;
  }
  DEVICE_MEMBER void load_dout(int step, int head, int batch) {
    const RingQ ring = shared_.dout_ring();
    ring.wait_until_empty(fills_of_dout_);
    shared_.dout(RingQ::stage(fills_of_dout_)).load(a_.dout, ring.full(fills_of_dout_), step * kQueries, head, batch);
    ++fills_of_dout_;
  }

  Args& a_;
  Options& options_;
  const Shared shared_;
  const KeyTiles<kKeys, kQueries> tiles_;
  uint32_t tiles_so_far_ = 0, fills_of_q_ = 0, fills_of_dout_ = 0;
  HeadOfQ head_;  // of q's fills
};

// The thread that adds a group's dQ to memory.
DEVICE void add_sums(Args& a, const Shared& shared, int group) {
  const RingK k_ring = shared.k_ring();
  const RingSums ring = shared.sums_ring(group);
  Sections sections(a);
  uint32_t fills = 0;
#pragma unroll 1
  for (uint32_t n = 0;; ++n) {
    k_ring.wait_until_full(n);
    const KeyTile tile = shared.tile(n);
    k_ring.give_back(n, true);
    if (tile.steps == 0) break;
    sections.wait_until_clear(tile.place);
    const int heads = a.backward.problem.group;
#pragma unroll 1
    for (int head = tile.head * heads; head < (tile.head + 1) * heads; ++head) {
      float* to = sums_of(a.backward, tile.batch, {tile.first_step * kQueries}, head) + group * (kSumBytes / 4);
#pragma unroll 1
      for (int step = 0; step < tile.steps; ++step) {
        ring.wait_until_full(fills);
        add_floats(shared.sums(group), to, kSumBytes);
        stores_end();
        wait_for_reads();
        ring.give_back(fills++, true);
        to += kQueries * kHeadDim;
      }
    }
  }
  wait_for_stores();
}

// The thread that clears sums.
DEVICE void clear_sums(Args& a, const Shared& shared) {
  const Sections sections(a);
  const RingK ring = shared.k_ring();
#pragma unroll 1
  for (uint32_t n = 0;; ++n) {
    ring.wait_until_full(n);
    const KeyTile tile = shared.tile(n);
    ring.give_back(n, true);
    if (tile.steps == 0) break;
    if (n == 0) sections.clear_ahead(tile.place, shared.zeros());
    sections.clear_ahead(tile.next, shared.zeros());
  }
}

}  // namespace rapt::nvidia
