// The tiles of keys that a workgroup computes. Workgroups take them from a counter, because their numbers of steps
// differ. The tiles of `heads_at_once` heads of k, whose queries fit L2, are a section. In a section the tiles with the
// most queries come first. The last section may have more heads, so that there is enough to compute beside its longest
// tiles.
#pragma once

#include "kernels/common/keys.hpp"

namespace rapt::nvidia {

// A tile of keys, and its steps of queries for each head of q that shares its head of k.
struct KeyTile {
  Block block;               // the keys; its head is one of k
  int steps;                 // 0: there is no tile; below 0: its sequence has no such keys
  int begin_step, end_step;  // the first one; what would be the next one after the last
  int stride;                // from a step to the next one: 1, or -1 in a fixed order
  int full_begin, full_end;  // queries that attend all of the keys

  DEVICE_MEMBER int after(int step) const { return step + stride == end_step ? begin_step : step + stride; }
};

template <int Keys, int Rows>
class KeyTiles {
 public:
  DEVICE_MEMBER explicit KeyTiles(const rapt_hopper_backward_scores_args& a)
      : a_(a.all), last_heads_(a.last_heads), ordered_(a.all.in_order != 0) {}

  // The place of the next tile. In a fixed order workgroups wait for tiles before their own, so the first tile too is
  // taken from the counter, whichever workgroup begins first.
  DEVICE_MEMBER int first_place() const { return ordered_ ? next_place() : workgroup_id(); }
  DEVICE_MEMBER int next_place() const {
    return (ordered_ ? 0 : static_cast<int>(gridDim.x)) + atomicAdd(a_.counters, 1);
  }

  DEVICE_MEMBER KeyTile at(int place) const {
    Problem& p = a_.backward.problem;
    const int tiles = a_.backward.tiles, heads = p.heads_k * p.batch, before_last = heads - last_heads_;
    if (place >= heads * tiles) return {};
    const int first_head = min(place / (a_.heads_at_once * tiles) * a_.heads_at_once, before_last);
    const int heads_here = first_head < before_last ? a_.heads_at_once : last_heads_;
    const int in_section = place - first_head * tiles, head = first_head + in_section % heads_here;
    const Block block = block_at(p, {0, head % p.heads_k, head / p.heads_k}, in_section / heads_here * Keys);
    KeyTile tile = {block};
    const Queries queries = queries_of(p, block, block.first_row, Keys);
    const int steps = max((block.q.count + Rows - 1) / Rows, 1), first = first_step(queries, steps);
    const int end = end_step(queries, steps);
    tile.steps = block.first_row < block.k.count ? end - first : -1;
    tile.stride = ordered_ ? -1 : 1;
    tile.begin_step = ordered_ ? end - 1 : first;
    tile.end_step = ordered_ ? first - 1 : end;
    if (block.first_row + Keys <= block.k.count) {
      tile.full_begin = queries.full_begin;
      // Queries that do not exist weigh 0.
      tile.full_end = queries.full_end < block.q.count ? queries.full_end : steps * Rows;
    }
    return tile;
  }
  // Steps from this one on have no keys of the tile before.
  DEVICE_MEMBER int end_before(const Block& block) const {
    if (block.first_row == 0) return 0;
    const Queries queries = queries_of(a_.backward.problem, block, block.first_row - Keys, Keys);
    return end_step(queries, max((block.q.count + Rows - 1) / Rows, 1));
  }

 private:
  // The sequence has `steps` steps. Keys without queries have one step, of queries that do not attend them.
  DEVICE int first_step(const Queries& queries, int steps) { return min(queries.begin / Rows, steps - 1); }
  DEVICE int end_step(const Queries& queries, int steps) {
    return max((queries.end + Rows - 1) / Rows, first_step(queries, steps) + 1);
  }

  const rapt_hopper_backward_args& a_;
  const int last_heads_;
  const bool ordered_;
};

}  // namespace rapt::nvidia
