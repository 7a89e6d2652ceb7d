// dq from what backward_fused added up, and once more of rows where that is Inf or NaN.
#include "kernels/cdna/attention/dq_again.hpp"

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
  f32x4 zero = {};  // 0 times each sum: NaN if it is not finite
#pragma unroll 4
  for (int row = block.first_row + thread_id() / lanes; row < end; row += Threads / lanes) {
    const f32x4 sum = *reinterpret_cast<const f32x4*>(sums + static_cast<int64_t>(row) * dims + lane_dim);
    zero = __builtin_elementwise_fma(sum, f32x4{}, zero);
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
  if (any_lane(!is_finite(zero[0] + zero[1] + (zero[2] + zero[3]))))
    compute_again<T, RAPT_HEAD_DIM, Threads>(opaque_copy(a), Rows);
}

}  // namespace rapt::amd

KERNEL(RAPT_WAVES* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_backward_args) {
  using namespace rapt::amd;
  round_dq<RAPT_DTYPE, RAPT_WAVES * kWave, RAPT_WAVES * kTile>(opaque_copy(arguments<BackwardArguments>()));
}
