// The end of rows of the forward pass: they are stored, with their lse.
#pragma once

#include "kernels/common/sink.hpp"
#include "kernels/hopper/attention/forward_shared.hpp"
#include "kernels/hopper/attention/running_softmax.hpp"

namespace rapt::nvidia {

// An address that is read from shared memory, where the compiler does not see which memory it names.
template <class X>
DEVICE X* global(X* pointer) {
  __builtin_assume(__isGlobal(pointer));
  return pointer;
}
DEVICE float* at(float* first, int64_t bytes) {
  return reinterpret_cast<float*>(reinterpret_cast<char*>(first) + bytes);
}

DEVICE int lane() { return thread_id() & (kWave - 1); }  // without a sign

// Stores a warp's 16 rows, from `first` on. `unit` makes natural logits of scores. Returns whether an element of the
// lane has an Inf or NaN that may come from a key its row does not attend.
template <int KeyTiles, class Outputs>
DEVICE bool store_rows(const rapt_forward_args& a, const RunningSoftmax<T, KeyTiles, kScores>& softmax,
                       const float& unit, const Work& work, int first, const Outputs& o) {
  const int rows = work.q.count;
  float factor[2];
  Softmax<T, kScores> own[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    own[half] = softmax.of_row(half, unit);
    own[half].sum = query_sum(own[half].sum + own[half].rest);
    factor[half] = own[half].sum > 0 ? rough_reciprocal(own[half].sum) : own[half].sum;
  }
  Sink sink = {kMasked, kMasked};
  if (rarely(a.problem.sink.data != nullptr)) {
    sink = Sink::of<kScores>(a.problem, work.block(a.problem));
#pragma unroll
    for (int half = 0; half < 2; ++half) factor[half] = own[half].finish_total(sink.logit);
  }
  char* const out = global(work.out);
  float* const lse = global(work.lse);
  if (lse != nullptr && lane() % 4 == 0) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + row_in_wave(0, half, lane());
      if (row < rows) *at(lse, row * a.lse.query) = sink.lse(own[half].lse());
    }
  }
  bool again = false;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first + row_in_wave(0, half, lane());
    const bool exists = row < rows, unsure = !kScores && huge(softmax.of_row(half, unit).reference);
    // All elements of a row with huge logits are computed again.
    const float of_row = unsure ? __builtin_nanf("") : factor[half] * (kScores ? a.problem.keep_scale : 1);
    const bool finite = store_row<T>(out + row * a.out.seq, a.problem.head_dim_v, o, half, lane(), of_row, exists);
    again |= exists && (unsure || (!finite && own[half].sum == own[half].sum));
  }
  return again;
}

}  // namespace rapt::nvidia
