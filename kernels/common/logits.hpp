// What masks and options do to logits. `Logits` is a lane's part of a tile of logits of one query, such as TileLogits
// of kernels/amd/tile/logits.hpp: get(i), set(i, x), scale(factor), and of which key of the tile element i is.
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
