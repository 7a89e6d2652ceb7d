// The rows of a split kernel's tile, as attend.hpp takes them.
#pragma once

#include "kernels/common/split.hpp"
#include "kernels/nvidia/attention/attend.hpp"

namespace rapt::nvidia {

// Row i of the tile.
DEVICE ResultRow result_row(SplitArguments& a, const SplitBlock& b, int i) {
  const SplitRow row = split_row(a, b, i);
  const Block block = b.block(a.problem, row.head);
  return {block, query_of(a.problem, block, row.query)};
}

}  // namespace rapt::nvidia
