// The kernels of aotriton/device, which are in this library.
#pragma once

#include <algorithm>

#include "aotriton/device/arguments.h"
#include "aotriton/hip/devices.hpp"

namespace rapt::aot {

struct Grid {
  uint32_t x, y, z;
};
// Workgroups for `count` things, `of` in each.
inline uint32_t blocks(int64_t count, int64_t of) { return static_cast<uint32_t>((count + of - 1) / of); }

// Pairs of batch and head for one dimension of a grid; `step` is the number of workgroups in it.
inline rapt_aot_pairs pairs_of(int64_t batch, int64_t heads) {
  const int64_t count = batch * heads;
  return {static_cast<int32_t>(count), static_cast<int32_t>(std::min<int64_t>(count, 65535)),
          static_cast<int32_t>(heads)};
}

// Loads the device's kernels on first use, but not while the stream is captured. Every call does this, so that one call
// before a capture is enough.
aotriton::Error load_kernels(const Device& device, HipStream stream);

aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_convert_lse& arguments);
aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_copy_rows& arguments);
aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_sum_lengths& arguments);
aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_write_numbers& arguments);
aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_encode_dropout& arguments);

}  // namespace rapt::aot
