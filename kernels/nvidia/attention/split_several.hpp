// A workgroup with several neighbouring splits of a tile, one after another: it copies the next one's keys while it
// merges its waves' results. The grid is then two-dimensional: x counts the workgroups of a tile, y the heads of k
// of all sequences. A head has one tile, and a workgroup has a power of two of splits.
#pragma once

#include "kernels/common/split.hpp"
#include "kernels/nvidia/isa/arguments.hpp"

namespace rapt::nvidia {

DEVICE int grid_row() {  // read anew at each call, as workgroup_id() is
  int id;
  asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(id));
  return id;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
inline constexpr bool kTakesSeveral = true;
#else
inline constexpr bool kTakesSeveral = false;  // some would have too few registers
#endif
DEVICE bool has_several_splits() { return kTakesSeveral && gridDim.y > 1; }

DEVICE int splits_of_workgroup(SplitArguments& a) {
  int count = 1;
  if (has_several_splits())
    while (count * static_cast<int>(gridDim.x) < a.splits) count *= 2;
  return count;
}

// `split` is the first one of several.
DEVICE SplitBlock block_of_workgroup(SplitArguments& a) {
  if (!has_several_splits()) return split_block(a, workgroup_id());
  const int row = grid_row(), batch = divide(row, a.by_heads_k);
  SplitBlock b = split_sequence(a, batch);
  b.split = workgroup_id() * splits_of_workgroup(a);
  b.head_k = row - batch * a.problem.heads_k;
  return b;
}

}  // namespace rapt::nvidia
