// The tiles of queries that a workgroup computes, one after another. A launch has one workgroup for each
// multiprocessor; no memory is shared to deal out tiles, so launches need no preparation.
//
// Tiles of `heads_at_once` heads are a section, in the order of their lengths: if later rows attend more keys, the last
// tile of each head first. `dealing` says how a workgroup takes its turns:
//
//   even    tiles are equally long: one after another
//   snake   a section's longest tiles first, every second round backwards
//   pairs   a section's longest tile, then its shortest: pairs are equally long. Neighbours compute tiles of the same
//           head at the same time, and find its keys in L2
#pragma once

#include "kernels/common/keys.hpp"

namespace rapt::nvidia {

struct QueryTile {
  int tile, head;  // head: of all sequences; -1: there is no tile
};

DEVICE int workgroups() { return static_cast<int>(gridDim.x); }

// Rows of sequences that are not packed.
DEVICE Block unpacked_block(Problem& p, int head, int batch, int first_row) {
  return {head, batch, {0, p.seqlen_q}, {0, p.seqlen_k}, first_row, p.top_left ? 0 : p.seqlen_k - p.seqlen_q};
}

class Turns {
 public:
  static constexpr bool kSlices = false;

  DEVICE_MEMBER Turns(const rapt_abi_turns& t, int workgroup, int workgroups)
      : t_(t), workgroup_(workgroup), workgroups_(workgroups), section_(t.heads_at_once * t.tiles) {}

  // The next tile of `rows` rows, if its sequence has such rows: packed sequences may be shorter than the longest one.
  DEVICE_MEMBER Block next_block(Problem& p, int rows) {
#pragma unroll 1
    while (true) {
      const QueryTile turn = next();
      if (turn.head < 0) return {-1};
      const Block block = block_at(p, {turn.tile, turn.head % p.heads_q, turn.head / p.heads_q}, turn.tile * rows);
      if (block.first_row < block.q.count) return block;
    }
  }
  DEVICE_MEMBER QueryTile next() {
    const int turn = turn_++;
    if (t_.dealing == RAPT_DEAL_PAIRS) return of_pair(turn / 2, turn % 2 != 0);
    const bool backwards = t_.dealing == RAPT_DEAL_SNAKE && turn % 2 != 0;
    const int place = turn * workgroups_ + (backwards ? workgroups_ - 1 - workgroup_ : workgroup_);
    if (place >= t_.heads * t_.tiles) return {0, -1};
    return tile_at(place / section_, place % section_);
  }

 private:
  DEVICE_MEMBER QueryTile of_pair(int round, bool second) {
    const int pairs = (section_ + 1) / 2;  // of a section; the last section may have fewer heads
    const int pair = round * workgroups_ + workgroup_, section = pair / pairs, i = pair % pairs;
    const int last = heads_of(section) * t_.tiles - 1;
    if (2 * i > last) return {0, -1};
    if (2 * i == last) ++turn_;  // the middle one, which has no other
    return tile_at(section, second ? last - i : i);
  }
  DEVICE_MEMBER int heads_of(int section) const { return min(t_.heads_at_once, t_.heads - section * t_.heads_at_once); }
  DEVICE_MEMBER QueryTile tile_at(int section, int place) const {
    const int heads = heads_of(section);
    return {t_.tiles - 1 - place / heads, section * t_.heads_at_once + place % heads};
  }

  const rapt_abi_turns& t_;
  int workgroup_, workgroups_, section_, turn_ = 0;
};

}  // namespace rapt::nvidia
