// Split-KV cuts the rows of k into parts, and a workgroup computes a partial result over one part.
#pragma once

#include "gpu/choose.hpp"

namespace rapt::gpu {

struct Splits {
  int32_t count = 1, rows = 0;  // parts, and rows of k in a part
};
// The splits depend on the cache's capacity and the device, not on the batch: a sequence has the same result, to the
// last bit, alone and in any batch.
Splits cut_keys(const Variant& kernel, const Needs& n, const Device& device);

// How many numbers a row's partial result has.
constexpr int64_t partial_dims(int64_t head_dim_v) { return (head_dim_v + 3) / 4 * 4; }

}  // namespace rapt::gpu
