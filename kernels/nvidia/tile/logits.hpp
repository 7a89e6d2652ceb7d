// A lane's part of one query's logits in a tile, as kernels/common sees it.
#pragma once

#include "kernels/common/logits.hpp"
#include "kernels/nvidia/isa/mma.hpp"

namespace rapt::nvidia {

// Rows of a 16 by (8 Tiles) matrix: `half` 0 is the lane's row l / 4, 1 is row l / 4 + 8.
// `Group` 1: the tile's first key may be odd.
template <int Tiles, int Group = 2>
struct TileLogits {
  static constexpr int count = 2 * Tiles;
  static constexpr int group = Group;  // this many neighbours have neighbouring keys, the first a multiple of Group

  TileC (&s)[Tiles];
  int half, lane;

  DEVICE_MEMBER float get(int i) const { return s[i / 2][2 * half + i % 2]; }
  DEVICE_MEMBER void set(int i, float x) const { s[i / 2][2 * half + i % 2] = x; }
  DEVICE_MEMBER void scale(float factor) const {
#pragma unroll
    for (int i = 0; i < count; ++i) set(i, get(i) * factor);
  }
  // Element i is of key(i) of the tile, which is first_key() + step(i): only the first depends on the lane.
  DEVICE_MEMBER int key(int i) const { return first_key() + step(i); }
  DEVICE_MEMBER int first_key() const { return 2 * (lane % 4); }
  DEVICE int step(int i) { return i / 2 * 8 + i % 2; }

  DEVICE_MEMBER float largest() const {
    float maximum = get(0);
#pragma unroll
    for (int i = 1; i < count; ++i) maximum = max(maximum, get(i));
    return maximum;
  }
};

// The same for a transposed tile, whose rows are keys and columns queries: column `column` of n-tile `n`.
template <int Tiles, int Columns>
struct ColumnLogits {
  static constexpr int count = 2 * Tiles;
  static constexpr int group = 1;

  TileC (&s)[Tiles][Columns];
  int n, column, lane;

  DEVICE_MEMBER float get(int i) const { return s[i / 2][n][i % 2 * 2 + column]; }
  DEVICE_MEMBER void set(int i, float x) const { s[i / 2][n][i % 2 * 2 + column] = x; }
  DEVICE_MEMBER void scale(float factor) const {
#pragma unroll
    for (int i = 0; i < count; ++i) set(i, get(i) * factor);
  }
  DEVICE_MEMBER int key(int i) const { return first_key() + step(i); }
  DEVICE_MEMBER int first_key() const { return lane / 4; }
  DEVICE int step(int i) { return i * 8; }
};

}  // namespace rapt::nvidia
