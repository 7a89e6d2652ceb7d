// The kernels of aotriton/device, which are in this library.
#pragma once

#include "aotriton/device/arguments.h"
#include "aotriton/hip/devices.hpp"

namespace rapt::aot {

struct Grid {
  uint32_t x, y, z;
};
// Of a grid: enough for `count` things, `of` each.
inline uint32_t blocks(int64_t count, int64_t of) { return static_cast<uint32_t>((count + of - 1) / of); }

// Loads the device's kernels on first use, but not while the stream is captured. Any call does, so that one call
// before a capture is enough.
aotriton::Error load_kernels(const Device& device, HipStream stream);

aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_convert_lse& arguments);
aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_copy_rows& arguments);
aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_write_numbers& arguments);
aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_encode_dropout& arguments);

}  // namespace rapt::aot
