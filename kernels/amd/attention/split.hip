// Attention of few queries to long KV, often a cache, with the memory's bandwidth as the limit. A workgroup computes 16
// rows of q that share a head of k, over one split of its keys. Its waves take turns of RAPT_BLOCK_K keys. A wave reads
// its rows of K and V straight into registers, the next rows while it computes, and has a softmax of its own. At the
// end the waves' results are added in LDS, in the order of the waves.
//
// A variant is RAPT_HEAD_DIM (any head_dim and head_dim_v up to it), RAPT_DTYPE and RAPT_GENERAL.
#include "kernels/amd/attention/split_attend.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using R = Rows16<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr bool kGeneral = RAPT_GENERAL;
inline constexpr int kSize = sizeof(T::element);
using NextKeys = SplitKeys<T, kHeadDim, kKeys>;
using WaveRow = RowOfWave<T, kGeneral, NextKeys>;
using Row = Softmax<T, kGeneral, RowLanes>;

// LDS has q first, and at the end the waves' results, kTogether dimensions of each lane's chunk at a time.
inline constexpr int kEach = NextKeys::each, kTogether = kEach < 4 ? kEach : kEach % 4 == 0 ? 4 : 3;
inline constexpr int kResultDims = 16 * kTogether, kResultStride = kResultDims + 1;
inline constexpr int kRowBytes = kHeadDim * kSize + 16;
inline constexpr int kResultBytes = kWaves * kQueryRows * kResultStride * 4;
struct Shared {
  alignas(16) char lds[kQueryRows * kRowBytes > kResultBytes ? kQueryRows* kRowBytes : kResultBytes];
  float reference[kWaves][kQueryRows], sum[kWaves][kQueryRows];
  struct {
    ResultRow<T> to;
    float sum, factor;  // of all waves' keys; of out
  } rows[kQueryRows];
  SplitBlock block;
};

// One wave's keys of the split.
template <bool Whole>
DEVICE void attend(SplitArguments& a, QueryOperand<T, NextKeys>& q, NextKeys::RowsOfK& k, NextKeys::RowsOfV& v,
                   Shared& shared, WaveRow& row) {
  const ThreadPlace place = ThreadPlace::of_thread();
  const int step = kWaves * kKeys, begin = row.keys.begin / kKeys * kKeys + place.wave * kKeys, end = row.keys.end;
  NextKeys next;
  if (begin < end) {
    next.load_k<Whole>(k, begin);
    next.load_v<Whole>(v, begin);
  }
  barrier();  // start.block is in LDS
  if (!kGeneral) row.keys = keys_in(row.pass, row.keys);
  if (!q.loaded) q.load_through_lds<kHeadDim, kThreads>(a, shared.block, shared.lds, 0);
  row.own = raise_own<T, RowLanes>(q.steps);
#pragma unroll 1
  for (int first = begin; first < end; first += step) {
    NextKeys::Scores s;
    next.multiply_k(q.steps, row.own, s);
    if (first + step < end) next.load_k<Whole>(k, first + step);
    row.probabilities(a, first, s);
    if (row.pass != kAll) next.replace_values<kGeneral>(row.pass);
    next.multiply_v(s, row.raised, row.o);
    if (first + step < end) next.load_v<Whole>(v, first + step);
  }
}

// Adds up the waves' sums of a row for the split, and returns the factor of this wave's results. Every lane calls it,
// for row lane % 16.
DEVICE float merge_sums(SplitArguments& a, const SplitBlock& block, WaveRow& row, Shared& shared) {
  const ThreadPlace place = ThreadPlace::of_thread();
  const int own = place.row;
  const float wave_sum = RowLanes::sum(row.softmax.sum + row.softmax.rest);
  if (place.lane < 16) {
    shared.reference[place.wave][own] = row.softmax.reference;
    shared.sum[place.wave][own] = wave_sum;
  }
  barrier();
  const float power = kGeneral ? exponent_scale(row.pass, kLog2e) : 1;
  Row all;
#pragma unroll
  for (int w = 0; w < kWaves; ++w) all.reference = max(all.reference, shared.reference[w][own]);
  const float factor = exp2((row.softmax.reference - all.reference) * power);
#pragma unroll
  for (int w = 0; w < kWaves; ++w)
    all.sum += exp2((shared.reference[w][own] - all.reference) * power) * shared.sum[w][own];
  if (place.thread < query_rows(a.problem, block)) {
    const float sum = all.sum;
    shared.rows[own] = {ResultRow<T>::of(a, block, own), sum, finish_row(a, block, row.pass, own, true, all)};
  }
  return factor;
}

// Adds the waves' results and stores them. Returns whether one of them has an Inf or NaN that may come from a key that
// its row does not attend.
DEVICE bool store(SplitArguments& a, WaveRow& row, Shared& shared) {
  load_together_for_results(a);
  const SplitBlock block = load_uniform(shared.block);
  const float wave_factor = merge_sums(a, block, row, shared);
  const ThreadPlace place = ThreadPlace::of_thread();
  auto* const results = reinterpret_cast<float*>(shared.lds);
  const int rows = query_rows(a.problem, block);
  bool again = false;
#pragma unroll
  for (int piece = 0; piece < NextKeys::chunks * kEach / kTogether; ++piece) {
    const int c = piece / (kEach / kTogether), first = piece % (kEach / kTogether) * kTogether;
    if (piece > 0) barrier();
#pragma unroll
    for (int e = 0; e < kTogether; ++e)
#pragma unroll
      for (int r = 0; r < static_cast<int>(sizeof(Result16) / 4); ++r)
        results[(place.wave * kQueryRows + place.row) * kResultStride + R::result_row(r, place.lane) * kTogether + e] =
            row.o[c][first + e][r] * (wave_factor * row.raised.undo());
    barrier();
#pragma unroll 1
    for (int n = place.thread; n < rows * kResultDims; n += kThreads) {
      const auto number = static_cast<uint32_t>(n);
      const int own = static_cast<int>(number / kResultDims), x = static_cast<int>(number % kResultDims);
      const int dim = c * NextKeys::chunk_dims + x / kTogether * kEach + first + x % kTogether;
      if (dim >= a.problem.head_dim_v) continue;
      float o = 0;
#pragma unroll
      for (int w = 0; w < kWaves; ++w) o += results[(w * kQueryRows + own) * kResultStride + x];
      const auto of_row = shared.rows[own];
      const float zero = 0 * o;
      again |= zero != zero && of_row.sum == of_row.sum;
      of_row.to.store(a, row.pass, dim, o, of_row.factor);
    }
  }
  again |= !kGeneral && huge(row.softmax.reference);
  return again && row.pass < kAbove;
}

// One pass over the keys. Returns whether another must follow (not_finite.hpp).
DEVICE bool attend_split(SplitArguments& a, Shared& shared, int pass) {
  load_together_for_keys(a);
  const SplitStart start(a, pass, shared.block);
  if (!start.has_keys) return false;
  if (pass == kAll) append_new<T, kThreads>(a, start);
  QueryOperand<T, NextKeys> q;
  // General kernels, fp32 and RDNA have no registers for both ways.
  if constexpr (!kGeneral && kSize == 2 && kWave == 64) q.load(opaque_copy(a), start.block, kHeadDim, 0);
  WaveRow row = WaveRow::of(a, start.block, shared.block, pass);
  NextKeys::RowsOfK k(start.k, a.problem.head_dim, kHeadDim, row.keys, 0);
  NextKeys::RowsOfV v(start.v, a.problem.head_dim_v, kHeadDim, row.keys, 0);
  if (k.access == k.kWhole && v.access == v.kWhole) attend<true>(a, q, k, v, shared, row);
  else attend<false>(a, q, k, v, shared, row);
  const bool again = store(opaque_copy(a), row, shared);
  return pass != kAll || vote<kWaves>(again, shared.lds);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kThreads, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_split_args) {
  using namespace rapt::amd;
  __shared__ static Shared shared;
#pragma nounroll
  for (int pass = kAll; pass < passes<kGeneral>(arguments<SplitArguments>().problem); ++pass)
    if (!attend_split(opaque_copy(arguments<SplitArguments>()), shared, pass)) break;
}
