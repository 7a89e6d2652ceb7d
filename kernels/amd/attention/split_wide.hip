// Like split.hip, for rows that do not fit in one wave's registers. All waves attend the same keys, each with a slice
// of the head dimension. A wave multiplies its slice of q and k, and the products are summed through LDS. Each wave
// computes the same softmax and its own slice of the result, so at the end there is nothing to add.
#include "kernels/amd/attention/split_attend.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using R = Rows16<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kSlice = kHeadDim / RAPT_HEAD_SLICES, kSize = sizeof(T::element);
inline constexpr bool kGeneral = RAPT_GENERAL;
// As in forward_wide.hip. On RDNA, whose blocks of keys are smaller, 512 needs it too.
inline constexpr bool kTwoParts = __is_same(T, fp16) && kHeadDim > (kWave == 32 ? 256 : 512);
static_assert(RAPT_HEAD_SLICES == kWaves);
using NextKeys = SplitKeys<T, kSlice, kKeys>;
using WaveRow = RowOfWave<T, kGeneral, NextKeys>;

// One wave's products with a block of keys. A lane reads what it wrote: the others' are at the same places.
struct Products {
  f32x4 x[NextKeys::blocks * R::scores / 4][kWave];
};
inline constexpr int kRowBytes = kHeadDim * kSize + 16;
struct Shared {
  union {
    alignas(16) char q[kQueryRows * kRowBytes];
    Products products[2][kWaves];  // while waves read one's, they may write the other's
  };
  SplitBlock block;
};

// The sum of all waves' products. Each adds them in the same order, so all have the same sums.
DEVICE void add_products(Products (&of_waves)[kWaves], NextKeys::Scores& s) {
  const ThreadPlace place = ThreadPlace::of_thread();
  float* const own = &s[0][0];
#pragma unroll
  for (int i = 0; i < NextKeys::blocks * R::scores; i += 4)
    of_waves[place.wave].x[i / 4][place.lane] = {own[i], own[i + 1], own[i + 2], own[i + 3]};
  barrier();
#pragma unroll
  for (int i = 0; i < NextKeys::blocks * R::scores; i += 4) {
    f32x4 sum = of_waves[0].x[i / 4][place.lane];
#pragma unroll
    for (int w = 1; w < kWaves; ++w) sum += of_waves[w].x[i / 4][place.lane];
#pragma unroll
    for (int j = 0; j < 4; ++j) own[i + j] = sum[j];
  }
}

// The split's keys.
template <bool Whole>
DEVICE void attend(SplitArguments& a, QueryOperand<T, NextKeys>& q, NextKeys::RowsOfK& k, NextKeys::RowsOfV& v,
                   Shared& shared, WaveRow& row) {
  const ThreadPlace place = ThreadPlace::of_thread();
  const int begin = row.keys.begin / kKeys * kKeys, end = row.keys.end;
  NextKeys next;
  if (begin < end) {
    next.load_k<Whole>(k, begin);
    next.load_v<Whole>(v, begin);
  }
  barrier();  // start.block is in LDS
  if (!kGeneral) row.keys = keys_in(row.pass, row.keys);
  if (!q.loaded) q.load_through_lds<kHeadDim, kThreads>(a, shared.block, shared.q, place.wave * kSlice);
  row.own = raise_own<T, RowLanes>(q.steps);
  int turn = 0;
#pragma unroll 1
  for (int first = begin; first < end; first += kKeys, turn ^= 1) {
    NextKeys::Scores s;
    next.multiply_k(q.steps, row.own, s);
    if (first + kKeys < end) next.load_k<Whole>(k, first + kKeys);
    add_products(shared.products[turn], s);
    row.probabilities(a, first, s);
    if (row.pass != kAll) next.replace_values<kGeneral>(row.pass);
    next.multiply_v(s, row.raised, row.o);
    if constexpr (kTwoParts) {
#pragma unroll
      for (auto& block : s)
#pragma unroll
        for (float& x : block) x -= T::to_float(T::round(x));
      next.multiply_v(s, row.raised, row.o);
    }
    if (first + kKeys < end) next.load_v<Whole>(v, first + kKeys);
  }
}

// Stores a wave's slice of a row. Returns whether it has an Inf or NaN that may come from a key that the row does not
// attend.
DEVICE bool store(SplitArguments& a, WaveRow& row, Shared& shared) {
  load_together_for_results(a);
  const SplitBlock block = load_uniform(shared.block);
  const ThreadPlace place = ThreadPlace::of_thread();
  const int own = place.row;
  auto& softmax = row.softmax;
  softmax.sum = RowLanes::sum(softmax.sum + softmax.rest);
  const float sum = softmax.sum;
  if (own >= query_rows(a.problem, block)) return false;
  const bool not_sure = !kGeneral && huge(softmax.reference);
  const float factor = finish_row(a, block, row.pass, own, place.thread < 16, softmax);
  const auto to = ResultRow<T>::of(a, block, own);
  float zero = 0;
#pragma unroll
  for (int c = 0; c < NextKeys::chunks; ++c)
#pragma unroll
    for (int r = 0; r < static_cast<int>(sizeof(Result16) / 4); ++r)
#pragma unroll
      for (int e = 0; e < NextKeys::each; ++e) {
        const int dim =
            place.wave * kSlice + c * NextKeys::chunk_dims + R::result_row(r, place.lane) * NextKeys::each + e;
        const float x = kRaises<T> ? row.o[c][e][r] * row.raised.undo() : row.o[c][e][r];
        if (dim < a.problem.head_dim_v) to.store(a, row.pass, dim, x, factor);
        zero = __builtin_fmaf(x, 0, zero);
      }
  return row.pass < kAbove && ((zero != 0 && sum == sum) || not_sure);
}

// One pass over the keys. Returns whether another must follow (not_finite.hpp).
DEVICE bool attend_split(SplitArguments& a, Shared& shared, int pass) {
  load_together_for_keys(a);
  const SplitStart start(a, pass, shared.block);
  if (!start.has_keys) return false;
  if (pass == kAll) append_new<T, kThreads>(a, start);
  const int first_dim = ThreadPlace::of_thread().wave * kSlice;
  QueryOperand<T, NextKeys> q;
  // General kernels, fp32 and RDNA have no registers for both ways.
  if constexpr (!kGeneral && kSize == 2 && kWave == 64) q.load(opaque_copy(a), start.block, kHeadDim, first_dim);
  WaveRow row = WaveRow::of(a, start.block, shared.block, pass);
  NextKeys::RowsOfK k(start.k, a.problem.head_dim, kHeadDim, row.keys, first_dim);
  NextKeys::RowsOfV v(start.v, a.problem.head_dim_v, kHeadDim, row.keys, first_dim);
  if (k.access == k.kWhole && v.access == v.kWhole) attend<true>(a, q, k, v, shared, row);
  else attend<false>(a, q, k, v, shared, row);
  const bool again = store(opaque_copy(a), row, shared);
  return pass != kAll || vote<kWaves>(again, shared.q);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kThreads, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_split_args) {
  using namespace rapt::amd;
  __shared__ static Shared shared;
#pragma nounroll
  for (int pass = kAll; pass < passes<kGeneral>(arguments<SplitArguments>().problem); ++pass)
    if (!attend_split(opaque_copy(arguments<SplitArguments>()), shared, pass)) break;
}
