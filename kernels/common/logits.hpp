// Masks and options applied to logits. `Logits` is a lane's part of one query's logits in a tile, such as TileLogits of
// kernels/amd/tile/logits.hpp. It has get(i), set(i, x), scale(factor), and the key of element i in the tile.
#pragma once

#include "kernels/common/keys.hpp"

namespace rapt::RAPT_VENDOR {

// Excludes keys outside [begin, end), which count from the tile's first key.
template <class Logits>
DEVICE void exclude(const Logits& s, int begin, int end) {
  // One comparison per key: keys below `begin` become large unsigned numbers. Only `offset` depends on the lane, the
  // rest is constant.
  const auto count = static_cast<uint32_t>(max(end - begin, 0));
  const int offset = s.first_key() - begin;
#pragma unroll
  for (int i = 0; i < Logits::count; ++i)
    s.set(i, static_cast<uint32_t>(offset + Logits::step(i)) < count ? s.get(i) : kMasked);
}

}  // namespace rapt::RAPT_VENDOR
