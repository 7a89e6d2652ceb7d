// What later passes of plain kernels do about huge logits (kernels/common/huge.hpp).
#pragma once

#include "kernels/amd/isa/matrix.hpp"
#include "kernels/common/huge.hpp"
#include "kernels/common/keys.hpp"
#include "kernels/common/not_finite.hpp"

namespace rapt::amd {

// Each tile of keys becomes one at an edge, because there logits are scaled before their largest is found. So the loop
// over keys has no condition more in the first pass.
DEVICE Keys keys_in(int pass, Keys keys) {
  if (pass != kAll) keys.full_end = keys.begin;
  return keys;
}

// Scales the logits of a tile at an edge.
template <int Tiles>
DEVICE void scale_first(float scale, Tile (&s)[Tiles]) {
#pragma unroll
  for (int t = 0; t < Tiles; ++t) s[t] *= scale;
}

}  // namespace rapt::amd
