// The order in which workgroups take the tiles of a grid's heads. Freestanding: host and device include it.
//
// Workgroups start in numerical order. On a GPU with several XCDs, workgroup n runs on XCD n % xcds. All tiles of a
// head, and the heads that share its keys, go to one XCD, so that its L2 reads K and V from memory once. Heads that are
// left over are spread over all XCDs. They come first: otherwise their longest tiles would start last.
//
// If later rows attend more keys, the longest tiles come first, so that the workgroups that run last are short.
// heads_at_once heads, whose K and V fit the cache, are ordered together.
#pragma once

#include "kernels/common/inline.h"

namespace rapt {

struct Grid {
  int tiles, heads;  // of each head, and of all sequences
  int xcds;
  int heads_at_once;  // heads ordered together; 0: any order
  int units;          // of an XCD, if each runs two workgroups at once; or 0
};

struct Turn {
  int head, tile;  // tile 0 is the longest
};

// Number `turn` of an XCD's workgroups, in descending length. Each unit is given one workgroup before any is given a
// second, which runs beside the first. Second workgroups come shortest first, so that the longest has the shortest
// beside it.
RAPT_DEVICE_INLINE int beside(int units, int turn, int workgroups) {
  const int end = 2 * units < workgroups ? 2 * units : workgroups;
  return turn < units || turn >= end ? turn : units + end - 1 - turn;
}

RAPT_DEVICE_INLINE Turn turn_of(const Grid& grid, int workgroup) {
  const int share = grid.heads / grid.xcds;  // heads per XCD
  int turn = workgroup, begin = share * grid.xcds, count = grid.heads - begin;
  if (const int whole = workgroup - count * grid.tiles; whole >= 0) {
    begin = whole % grid.xcds * share, count = share;
    turn = beside(grid.units, whole / grid.xcds, share * grid.tiles);
  }

  // the tile of `turn` among `count` heads from `begin` on
  const int at_once = grid.heads_at_once > 1 ? grid.heads_at_once : 1;
  const int first = turn / (at_once * grid.tiles) * at_once, in_chunk = turn - first * grid.tiles;
  const int of_chunk = at_once < count - first ? at_once : count - first;
  return {begin + first + in_chunk % of_chunk, in_chunk / of_chunk};
}

}  // namespace rapt
