// dq from what backward_fused added up.
#include "kernels/amd/isa/matrix.hpp"
#include "kernels/common/block.hpp"

namespace rapt::amd {

template <class T, int Threads, int Rows>
DEVICE void round_dq(BackwardArguments& a) {
  using element = typename T::element;
  constexpr int kEach = 4;  // elements of a lane
  const Block block = block_of(a.problem, a.tiles, Rows);
  const int dims = static_cast<int>(a.dq_sum.dims), lanes = dims / kEach, lane_dim = thread_id() % lanes * kEach;
  const int end = min(block.q.count, block.first_row + Rows), head_dim = a.problem.head_dim;
  const float* const sums = sums_of(a, block.batch, block.q, block.head);
  char* const dq = first_row_of(a.dq, block.batch, block.q, block.head);
  const bool vectors = aligned(dq, a.dq.seq) && head_dim % kEach == 0;
#pragma unroll 4
  for (int row = block.first_row + thread_id() / lanes; row < end; row += Threads / lanes) {
    const f32x4 sum = *reinterpret_cast<const f32x4*>(sums + static_cast<int64_t>(row) * dims + lane_dim);
    element x[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) x[i] = T::round(sum[i] * a.problem.scale);
    char* const to = dq + row * a.dq.seq + lane_dim * static_cast<int>(sizeof(element));
    if (vectors && lane_dim < head_dim) {
      store_unaligned<u32x2, 4>(to, __builtin_bit_cast(u32x2, x));
    } else {
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        if (lane_dim + i < head_dim) store_unaligned<element, sizeof(element)>(to + i * sizeof(element), x[i]);
    }
  }
}

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  round_dq<RAPT_DTYPE, RAPT_WAVES * kWave, RAPT_WAVES * kTile>(opaque_copy(arguments<BackwardArguments>()));
}
