// The tiles of keys that a workgroup computes. Workgroups take them from a counter, because their numbers of steps
// differ. The tiles of `heads_at_once` heads of k, whose queries fit L2, are a section. In a section the tiles with the
// most queries come first.
#pragma once

#include "kernels/common/keys.hpp"
#include "kernels/hopper/attention/turns.hpp"

namespace rapt::nvidia {

// A tile of keys, and its steps of queries for each head of q that shares its head of k.
struct KeyTile {
  int first_key, head, batch;  // head: of k
  int first_step, steps;       // no steps: there is no tile
  int full_begin, full_end;    // queries that attend all of the keys
  int place, next;             // among all tiles; where the workgroup's next tile is
};

template <int Keys, int Rows>
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
    const Queries queries =
        queries_of(p, unpacked_block(p, tile.head, tile.batch, tile.first_key), tile.first_key, Keys);
    // Keys without queries have one step, of queries that do not attend them.
    const int steps = (p.seqlen_q + Rows - 1) / Rows;
    tile.first_step = min(queries.begin / Rows, steps - 1);
    tile.steps = max((queries.end + Rows - 1) / Rows - tile.first_step, 1);
    if (tile.first_key + Keys <= p.seqlen_k) {
      tile.full_begin = queries.full_begin;
      tile.full_end = queries.full_end < p.seqlen_q ? queries.full_end : steps * Rows;  // what does not exist weighs 0
    }
    tile.place = place;
    return tile;
  }

 private:
  const rapt_hopper_backward_args& a_;
};

}  // namespace rapt::nvidia
