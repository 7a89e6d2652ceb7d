// The tiles of keys that a workgroup computes. Workgroups take them from a counter, because their numbers of steps
// differ. The tiles of `heads_at_once` heads of k, whose queries fit L2, are a section. In a section the tiles with the
// most queries come first.
#pragma once

#include "kernels/common/keys.hpp"

namespace rapt::nvidia {

// A tile of keys, and its steps of queries for each head of q that shares its head of k.
struct KeyTile {
  int first_key, head, batch;  // head: of k
  int first_step, steps;       // no steps: there is no tile
  int place, next;             // among all tiles; where the workgroup's next tile is
};

template <int Keys, int Queries>
class KeyTiles {
 public:
  DEVICE_MEMBER explicit KeyTiles(const rapt_hopper_backward_args& a) : a_(a) {}

  // The place of the next tile: the first one needs no counter.
  DEVICE_MEMBER int first_place() const { return workgroup_id(); }
  DEVICE_MEMBER int next_place() const { return static_cast<int>(gridDim.x) + atomicAdd(a_.counters, 1); }

  DEVICE_MEMBER KeyTile at(int place) const {
    Problem& p = a_.backward.problem;
    const int tiles = a_.backward.tiles, heads = p.heads_k * p.batch, section = a_.heads_at_once * tiles;
    if (place >= heads * tiles) return {};
    const int first_head = place / section * a_.heads_at_once, in_section = place % section;
    const int heads_here = min(a_.heads_at_once, heads - first_head), head = first_head + in_section % heads_here;
    KeyTile tile = {in_section / heads_here * Keys, head % p.heads_k, head / p.heads_k};
    const int steps = (p.seqlen_q + Queries - 1) / Queries;
    // Keys without queries have one step, of queries that do not attend them.
    tile.first_step = min(first_query(p, tile.first_key) / Queries, steps - 1);
    tile.steps = steps - tile.first_step;
    tile.place = place;
    return tile;
  }

 private:
  DEVICE int first_query(Problem& p, int key) {
    return p.window_right < 0 ? 0 : max(key - p.window_right - (p.top_left ? 0 : p.seqlen_k - p.seqlen_q), 0);
  }

  const rapt_hopper_backward_args& a_;
};

}  // namespace rapt::nvidia
