// Rows of packed results that belong to no sequence, because cu_seqlens end before the tensor: they become 0.
#pragma once

#include "kernels/common/block.hpp"

namespace rapt::nvidia {

// One of `threads` threads of the grid clears its part of rows of 16-bit elements: all that follow cu_seqlens.
DEVICE void clear_unused_rows(const rapt_abi_rows& rows, const int32_t* cu_seqlens, int batch, int total, int heads,
                              int dims, int thread, int threads) {
  constexpr int kElements = 8;  // of a store
  if (cu_seqlens == nullptr || rows.data == nullptr) return;
  const int first = clamp(cu_seqlens[batch], 0, total), pieces = dims / kElements;
  const int64_t count = int64_t{total - first} * heads * pieces;
#pragma unroll 1
  for (int64_t i = thread; i < count; i += threads) {
    const int64_t row = first + i / (heads * pieces);
    const int piece = static_cast<int>(i % (heads * pieces));
    char* const to = static_cast<char*>(rows.data) + row * rows.seq + piece / pieces * rows.head + piece % pieces * 16;
    *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
  }
}

}  // namespace rapt::nvidia
