// Split-KV without matrix units: attention of few queries to long KV, often a cache. A workgroup computes 16 rows of q
// that share a head of k, over one split of its keys, as in ../../amd/attention/split.hip. Its waves take turns of 16
// keys, or RAPT_HEAD_SLICES of them, which are all, share each 16 keys and have a slice of the head dimension each.
//
// Lanes read pieces of rows of K and V; what they compute with them is in rows16.hpp and split_pieces.hpp.
#include "kernels/amd/attention/split_attend.hpp"
#include "kernels/dot/tile/split_pieces.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using R = Rows16<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kSlices = RAPT_HEAD_SLICES, kSlice = kHeadDim / kSlices, kTurns = kWaves / kSlices;
inline constexpr bool kGeneral = RAPT_GENERAL;
inline constexpr int kSize = sizeof(T::element), kRowBytes = kHeadDim * kSize + 16;
static_assert(kKeys == R::keys && (kSlices == 1 || kSlices == kWaves));
// The rows of q that are computed: four where there are no more, or else 16.
inline constexpr int kFewRows = 4;
template <int Rows>
using Pieces = SplitPieces<T, kSlice, kRowBytes, Rows>;
template <int Rows>
using WaveRow = RowOfWave<T, kGeneral, Pieces<Rows>>;
using Row = Softmax<T, kGeneral, RowLanes>;

// Results of four groups of lanes for each turn are added up, 16 lanes' dimensions of each slice at a time.
inline constexpr int kGroups = 4 * kTurns, kColumns = 16 * kSlices;
struct Shared {
  union {
    alignas(16) char q[kQueryRows * kRowBytes];
    float results[kGroups][kQueryRows][kColumns + 1];
  };
  f32x4 scores[kSlices == 1 ? 1 : 2][kSlices == 1 ? 1 : kWaves][kWave];  // in turn: one's are read, the other's written
  float reference[kTurns][kQueryRows], sum[kTurns][kQueryRows];
  struct {
    ResultRow<T> to;
    float sum, factor;  // of all keys; of out
  } rows[kQueryRows];
  SplitBlock block;
};

// The sums of all slices' scores. Each wave adds them in the same order, so all have the same sums.
template <int Waves>
DEVICE void add_slices(f32x4 (&of_waves)[Waves][kWave], float (&s)[1][R::scores]) {
  const ThreadPlace place = ThreadPlace::of_thread();
  of_waves[place.wave][place.lane] = {s[0][0], s[0][1], s[0][2], s[0][3]};
  barrier();
  f32x4 sum = of_waves[0][place.lane];
#pragma unroll
  for (int w = 1; w < Waves; ++w) sum += of_waves[w][place.lane];
#pragma unroll
  for (int i = 0; i < 4; ++i) s[0][i] = sum[i];
}

// One wave's keys of the split.
template <bool Whole, int Rows, class Loads>
DEVICE void attend(SplitArguments& a, Loads& k, Loads& v, Shared& shared, WaveRow<Rows>& row) {
  const ThreadPlace place = ThreadPlace::of_thread();
  constexpr int step = kTurns * kKeys;
  const int begin = row.keys.begin / kKeys * kKeys + place.wave / kSlices * kKeys, end = row.keys.end;
  Pieces<Rows> next;
  if (begin < end) {
    next.template load<Whole>(k, begin, next.k);
    next.template load<Whole>(v, begin, next.v);
  }
  barrier();  // the block is in LDS
  if (!kGeneral) row.keys = keys_in(row.pass, row.keys);
  stage_q<T, kHeadDim, kThreads>(opaque_copy(a), load_uniform(shared.block), place.thread,
                                 [&](int row, int x) { return shared.q + row * kRowBytes + x * kSize; });
  barrier();
  int turn = 0;
#pragma unroll 1
  for (int first = begin; first < end; first += step, turn ^= 1) {
    typename Pieces<Rows>::Scores s;
    next.multiply_k(shared.q + place.wave % kSlices * kSlice * kSize, s);
    if (first + step < end) next.template load<Whole>(k, first + step, next.k);
    if constexpr (kSlices > 1) add_slices(shared.scores[turn], s);
    row.probabilities(a, first, s);
    if (row.pass != kAll) next.template replace_values<kGeneral>(row.pass);
    next.multiply_v(s, row.o);
    if (first + step < end) next.template load<Whole>(v, first + step, next.v);
  }
}

// Adds up the turns' sums of a row for the split, and returns the factor of this wave's results. Every lane calls it,
// for row lane % 16.
template <int Rows>
DEVICE float merge_sums(SplitArguments& a, const SplitBlock& block, WaveRow<Rows>& row, Shared& shared) {
  const ThreadPlace place = ThreadPlace::of_thread();
  const int own = place.row, turn = place.wave / kSlices;
  const float wave_sum = RowLanes::sum(row.softmax.sum + row.softmax.rest);
  if (place.lane < 16) {
    shared.reference[turn][own] = row.softmax.reference;
    shared.sum[turn][own] = wave_sum;
  }
  barrier();
  const float power = kGeneral ? exponent_scale(row.pass, kLog2e) : 1;
  Row all;
#pragma unroll
  for (int t = 0; t < kTurns; ++t) all.reference = max(all.reference, shared.reference[t][own]);
  const float factor = exp2((row.softmax.reference - all.reference) * power);
#pragma unroll
  for (int t = 0; t < kTurns; ++t)
    all.sum += exp2((shared.reference[t][own] - all.reference) * power) * shared.sum[t][own];
  if (place.thread < query_rows(a.problem, block)) {
    const float sum = all.sum;
    shared.rows[own] = {ResultRow<T>::of(a, block, own), sum, finish_row(a, block, row.pass, own, true, all)};
  }
  return factor;
}

// Adds the waves' results and stores them. Returns whether one of them has an Inf or NaN that may come from a key that
// its row does not attend.
template <int Rows>
DEVICE bool store(SplitArguments& a, WaveRow<Rows>& row, Shared& shared) {
  using P = Pieces<Rows>;
  load_together_for_results(a);
  const SplitBlock block = load_uniform(shared.block);
  const float wave_factor = merge_sums(a, block, row, shared);
  const ThreadPlace place = ThreadPlace::of_thread();
  const int group = place.wave / kSlices * 4 + place.lane / 16, column = place.wave % kSlices * 16 + place.row;
  const int rows = query_rows(a.problem, block);
  bool again = false;
#pragma unroll
  for (int piece = 0; piece < P::chunks * P::each; ++piece) {
    const int c = piece / P::each, e = piece % P::each;
    auto& o = row.o[c][e];
    o *= wave_factor;
    if (piece > 0) barrier();
#pragma unroll
    for (int n = 0; n < Rows; ++n) shared.results[group][(place.row - n) & (Rows - 1)][column] = o.x[n];
    barrier();
#pragma unroll 1
    for (int n = place.thread; n < rows * kColumns; n += kThreads) {
      const auto number = static_cast<uint32_t>(n);
      const int own = static_cast<int>(number / kColumns), x = static_cast<int>(number % kColumns);
      const int dim = x / 16 * kSlice + c * P::chunk_dims + x % 16 * P::each + e;
      if (dim >= a.problem.head_dim_v) continue;
      float sum = 0;
#pragma unroll
      for (int g = 0; g < kGroups; ++g) sum += shared.results[g][own][x];
      const auto of_row = shared.rows[own];
      const float zero = 0 * sum;
      again |= zero != zero && of_row.sum == of_row.sum;
      of_row.to.store(a, row.pass, dim, sum, of_row.factor);
    }
  }
  again |= !kGeneral && huge(row.softmax.reference);
  return again && row.pass < kAbove;
}

// One pass over the keys. Returns whether another must follow (not_finite.hpp).
template <int Rows>
DEVICE bool attend_split(SplitArguments& a, Shared& shared, int pass) {
  load_together_for_keys(a);
  const SplitStart start(a, pass, shared.block);
  if (!start.has_keys) return false;
  if (pass == kAll) append_new<T, kThreads>(a, start);
  const int first_dim = ThreadPlace::of_thread().wave % kSlices * kSlice;
  WaveRow<Rows> row = WaveRow<Rows>::of(a, start.block, shared.block, pass);
  typename Pieces<Rows>::Rows k(start.k, a.problem.head_dim, kHeadDim, row.keys, first_dim);
  typename Pieces<Rows>::Rows v(start.v, a.problem.head_dim_v, kHeadDim, row.keys, first_dim);
  if (k.access == k.kWhole && v.access == v.kWhole) attend<true, Rows>(a, k, v, shared, row);
  else attend<false, Rows>(a, k, v, shared, row);
  const bool again = store(opaque_copy(a), row, shared);
  return pass != kAll || vote<kWaves>(again, shared.q);
}

template <int Rows>
DEVICE void split(Shared& shared) {
#pragma nounroll
  for (int pass = kAll; pass < passes<kGeneral>(arguments<SplitArguments>().problem); ++pass)
    if (!attend_split<Rows>(opaque_copy(arguments<SplitArguments>()), shared, pass)) break;
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kThreads, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_split_args) {
  using namespace rapt::amd;
  __shared__ static Shared shared;
  Problem& p = arguments<SplitArguments>().problem;
  if (p.group * p.seqlen_q <= kFewRows) split<kFewRows>(shared);
  else split<16>(shared);
}
