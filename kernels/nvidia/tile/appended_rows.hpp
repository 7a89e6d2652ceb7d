// New keys and values that a split kernel writes to the cache.
#pragma once

#include "kernels/common/append.hpp"

namespace rapt::nvidia {

// Writes the new rows in the workgroup's split.
template <class T, int Threads>
DEVICE void append_split(SplitArguments& a) {
  const SplitBlock b = split_block(a, workgroup_id());
  const int begin = b.split * a.split_rows, end = a.splits == 1 ? INT32_MAX : begin + a.split_rows;
  append<T, Threads>(a, b, thread_id(), CacheRows(a, b, a.k), CacheRows(a, b, a.v), begin, end);
  barrier();  // for global memory too
}

}  // namespace rapt::nvidia
