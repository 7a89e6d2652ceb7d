// Rows of a block's tensors that a workgroup stages.
#pragma once

#include "kernels/common/keys.hpp"
#include "kernels/nvidia/tile/staged_rows.hpp"

namespace rapt::nvidia {

// Rows of q or dout, `head_dim` elements long; `shared` is their place.
template <class Staged>
DEVICE Staged staged_queries(const rapt_abi_rows& tensor, int head_dim, const Block& block, char* shared, int thread) {
  return Staged(first_row_of(tensor, block.batch, block.q, block.head), tensor.seq, head_dim, 0, block.q.count, shared,
                thread);
}

// Rows of k or v; rows outside `keys` are zeros.
template <class Staged>
DEVICE Staged staged_keys(const rapt_abi_rows& tensor, int head_dim, const Block& block, int head_k, const Keys& keys,
                          char* shared, int thread) {
  return Staged(first_row_of(tensor, block.batch, block.k, head_k), tensor.seq, head_dim, keys.begin, keys.end, shared,
                thread);
}

}  // namespace rapt::nvidia
