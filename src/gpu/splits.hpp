// Split-KV cuts the rows of k into parts, and a workgroup computes a partial result over one part.
#pragma once

#include "gpu/choose.hpp"

namespace rapt::gpu {

// Sets a split pass's splits, and drops the merging kernel if there is one split. The splits depend on the cache's
// capacity and the device, not on the batch: a sequence has the same result, to the last bit, alone and in any batch.
void cut_keys(const Variant& kernel, const Needs& n, const Device& device, Pass& pass);

// How many numbers a row's partial result has.
constexpr int64_t partial_dims(int64_t head_dim_v) { return (head_dim_v + 3) / 4 * 4; }

}  // namespace rapt::gpu
