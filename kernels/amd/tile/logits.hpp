// A lane's part of a tile of logits, all of one query, as kernels/common sees it.
#pragma once

#include "kernels/amd/isa/matrix.hpp"
#include "kernels/common/logits.hpp"

namespace rapt::amd {

template <class M>
struct TileLogits {
  static constexpr int count = kRegisters;
  static constexpr int group = 4;  // elements of neighbouring keys, whose first key is a multiple of 4

  Tile& s;
  int half;

  DEVICE_MEMBER float get(int i) const { return s[i]; }
  DEVICE_MEMBER void set(int i, float x) const { s[i] = x; }
  DEVICE_MEMBER void scale(float factor) const { s *= factor; }
  // Element i is of key(i) of the tile, which is first_key() + step(i): only the first depends on the lane.
  DEVICE_MEMBER int key(int i) const { return M::element(i, half); }
  DEVICE_MEMBER int first_key() const { return M::element(0, half); }
  DEVICE int step(int i) { return M::element(i, 0); }
};

// Stores a lane's row, in parts of tiles as above, in [row][Keys] of LDS.
template <class M, int Keys, int Tiles>
DEVICE void store_tiles(float* staged, int first_row, int lane, const Tile (&tiles)[Tiles]) {
#pragma unroll
  for (int t = 0; t < Tiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; ++r)
      staged[(first_row + lane % kTile) * Keys + t * kTile + M::element(r, lane / kTile)] = tiles[t][r];
}

}  // namespace rapt::amd
