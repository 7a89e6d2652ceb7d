// A row of dq once more, where backward_fused added an Inf or NaN, which it cannot take back. There are three causes:
// the gradient of a logit is beyond fp16's range, logits are huge (huge.hpp), or an Inf in Q or K excludes a key whose
// V, or a row whose dO, has NaN. Few rows are such, so this is in plain float32, where the range is enough.
#pragma once

#include "kernels/amd/isa/matrix.hpp"
#include "kernels/common/huge.hpp"
#include "kernels/common/infinite_rows.hpp"

namespace rapt::amd {

// The gradient of a row's logit for a key of the lane, and 0 for a key that it does not attend. `dout` and `out` are
// the row's.
template <class T>
struct RowOfGradients {
  Problem& p;
  const char *q, *dout;
  float lse, delta;

  DEVICE_MEMBER float of(const char* k, const char* v) const {
    const float s = product_of<T>(q, k, p.head_dim) * p.scale;
    if (s == kMasked) return 0;
    const float weight = exp2(((s > lse ? lse : s) - lse) * kLog2e);
    return weight * (product_of<T>(dout, v, p.head_dim_v) - delta);
  }
};

// A wave's lanes are keys, then each has HeadDim / kWave elements of the row.
template <class T, int HeadDim>
DEVICE void dq_again(BackwardArguments& a, const Block& block, int row) {
  constexpr int kOfLane = HeadDim / kWave;
  Problem& p = a.problem;
  const int lane = thread_id() % kWave, head_k = block.head / p.group;
  const char* const q = first_row_of(a.q, block.batch, block.q, block.head) + row * a.q.seq;
  const char* const dout = first_row_of(a.dout, block.batch, block.q, block.head) + row * a.dout.seq;
  const char* const out = first_row_of(a.out, block.batch, block.q, block.head) + row * a.out.seq;
  const char* const k = first_row_of(a.k, block.batch, block.k, head_k);
  const char* const v = first_row_of(a.v, block.batch, block.k, head_k);
  const RowOfGradients<T> gradients = {p, q, dout, *lse_at(a, block.batch, block.head, block.q, row),
                                       product_of<T>(out, dout, p.head_dim_v)};
  const Query query = query_of(p, block, row);
  float dq[kOfLane] = {};
  bool nan = false;  // then all elements are, whatever keys follow
#pragma unroll 1
  for (int first = query.begin; first < query.end && !nan; first += kWave) {
    const int key = first + lane;
    const float ds = key < query.end ? gradients.of(k + key * a.k.seq, v + key * a.v.seq) : 0;
    nan = any_lane(ds != ds);
#pragma unroll 1
    for (Lanes left = lanes_where(ds != 0); left != 0; left &= left - 1) {
      const int i = first_of(left);
      const float of_key = __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, ds), i));
#pragma unroll
      for (int d = 0; d < kOfLane; ++d)
        if (lane + d * kWave < p.head_dim) dq[d] += of_key * element_of<T>(k + (first + i) * a.k.seq, lane + d * kWave);
    }
  }
  auto* const to =
      reinterpret_cast<typename T::element*>(first_row_of(a.dq, block.batch, block.q, block.head) + row * a.dq.seq);
#pragma unroll
  for (int d = 0; d < kOfLane; ++d)
    if (lane + d * kWave < p.head_dim) to[lane + d * kWave] = T::round(nan ? __builtin_nanf("") : dq[d] * p.scale);
}

// The rows of the wave whose sums are not finite. In each turn the workgroup has Threads * 4 sums.
template <class T, int HeadDim, int Threads>
DEVICE void compute_again(BackwardArguments& a, int rows) {
  const Block block = block_of(a.problem, a.tiles, rows);
  const int dims = static_cast<int>(a.dq_sum.dims), of_wave = kWave * 4 / dims;
  const int end = min(block.q.count, block.first_row + rows), lane = thread_id() % kWave;
  const float* const sums = sums_of(a, block.batch, block.q, block.head);
#pragma unroll 1
  for (int turn = block.first_row + uniform(thread_id() / kWave) * of_wave; turn < end; turn += Threads * 4 / dims)
#pragma unroll 1
    for (int row = turn; row < min(turn + of_wave, end); ++row) {
      bool finite = true;
#pragma unroll 1
      for (int dim = lane; dim < dims; dim += kWave) finite &= is_finite(sums[static_cast<int64_t>(row) * dims + dim]);
      if (any_lane(!finite)) dq_again<T, HeadDim>(a, block, row);
    }
}

}  // namespace rapt::amd
