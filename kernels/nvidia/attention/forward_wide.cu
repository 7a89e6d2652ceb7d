// Like forward.cu, for rows of q and O that do not fit in one wave's registers: RAPT_HEAD_SLICES waves share 16 rows,
// each with a slice of the head dimension. Each multiplies its slice of q and K, the products are summed through shared
// memory, and each wave computes the same softmax and its own slice of O.
//
// The tile of 576 also has code for rows of up to 512 elements, whose slices are shorter.
#include "kernels/common/sink.hpp"
#include "kernels/nvidia/attention/attend.hpp"
#include "kernels/nvidia/tile/slices.hpp"
#include "kernels/nvidia/tile/staged_tensors.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kThreads = kWaves * kWave;
inline constexpr int kSlices = RAPT_HEAD_SLICES, kRows = kWaves / kSlices * kTile, kKeyTiles = kKeys / 8;
inline constexpr bool kGeneral = RAPT_GENERAL;
using Sums = SliceSums<kKeyTiles, kSlices>;
template <int HeadDim>
using StagedKeys = StagedRows<T, HeadDim, kKeys, kThreads>;
static_assert(RAPT_SHARED_BYTES == 2 * StagedKeys<RAPT_HEAD_DIM>::kBytes + kWaves * Sums::kWaveBytes,
              "shared= of the row");

// In fp16 each larger logit becomes the reference. Then the P of a row's largest logit is a power of two, which is not
// rounded. With lazy rescaling, an element of out missed the rule by 9 % where that P has most of the row's weight.
template <int HeadDim>
inline constexpr bool kLazyRows = !std::is_same_v<T, fp16> || HeadDim <= 512;

template <int HeadDim>
using Accumulators = TileC[1][HeadDim / kSlices / 8];
using Softmaxes = Softmax<T, kGeneral>[1][2];

// Stores a pass's result. Returns true if a row has an Inf or NaN that may come from a key it does not attend.
template <int HeadDim>
DEVICE bool store(Arguments& a, int pass, Softmaxes& softmax, Accumulators<HeadDim>& o, char* shared) {
  using Part = WavePart<kSlices, HeadDim / kSlices>;
  static_assert(kTile * kWaves * Part::template Gathered<T>::kStride <= RAPT_SHARED_BYTES);
  const Block block = block_of(a.problem, a.q_tiles, kRows);
  const int thread = thread_id();
  const Part part = Part::of(thread);
  const int first_row = block.first_row + part.row, dims = part.dims(a.problem.head_dim_v);
  const auto gathered = part.template gathered<T>(shared, thread);
  char* const out = part.template at<T>(first_row_of(a.out, block.batch, block.q, block.head) + first_row * a.out.seq);
  const Sink sink = Sink::of<kGeneral>(a.problem, block);
  bool again = false;
  for_rows<1>([&](int m, int half) {
    const int row = row_in_wave(m, half, part.lane);
    const bool exists = first_row + row < block.q.count;
    if (pass >= kAbove) {
      if (exists) add_where_weighted<T>(out + row * a.out.seq, dims, added<kGeneral>(pass), o[m], half, part.lane);
      return;
    }
    Softmax<T, kGeneral>& own = softmax[m][half];
    const bool unsure = !kGeneral && huge(own.reference);
    const float factor = own.finish(sink.logit) * (kGeneral ? a.problem.keep_scale : 1);
    if (exists) {
      again |= unsure || (not_finite(o[m], half) && own.sum == own.sum);
      if (part.first_slice() && part.lane % 4 == 0) store_lse(a, block, first_row + row, sink.lse(own.lse()));
    }
    stage<T>(gathered.at(row), o[m], half, part.lane, factor);
  });
  if (pass < kAbove) store_rows<kTile>(gathered, 0, out, a.out.seq, block.q.count - first_row, dims);
  return again;
}

// One pass over the keys. Returns true if another must follow (not_finite.hpp).
template <int HeadDim>
DEVICE bool forward(Arguments& a, char* shared, int pass) {
  constexpr int kSlice = HeadDim / kSlices;
  using Part = WavePart<kSlices, kSlice>;
  using StagedQ = StagedRows<T, HeadDim, kRows, kThreads>;
  using Staged = StagedKeys<HeadDim>;
  static_assert(StagedQ::kBytes <= 2 * Staged::kBytes);
  Problem& p = a.problem;
  const Block block = block_of(p, a.q_tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = thread_id(), head_k = block.head / p.group;
  const Part part = Part::of(thread);
  const int first_row = block.first_row + part.row;
  const Keys keys = keys_of(p, block, block.first_row, kRows);  // of the workgroup
  const WaveRows rows = {first_row, keys_of(p, block, first_row, kTile)};
  const auto k = staged_keys<Staged>(a.k, p.head_dim, block, head_k, keys, shared, thread);
  const auto v = staged_keys<Staged>(a.v, p.head_dim_v, block, head_k, keys, shared + Staged::kBytes, thread);
  const Sums sums = {shared + 2 * Staged::kBytes, part.wave, part.lane};

  // q passes through the place of K and V.
  const auto staged_q = staged_queries<StagedQ>(a.q, p.head_dim, block, shared, thread);
  staged_q.load(block.first_row);
  wait_for_copies();
  barrier();
  KeptSlice<T, kSlice> q;
  q.load(staged_q, part.row, part.dim);
  barrier();
  Accumulators<HeadDim> o = {};
  Softmaxes softmax;
  for_rows<1>([&](int m, int half) { softmax[m][half] = Softmax<T, kGeneral>(); });
  const int begin = keys.begin / kKeys * kKeys;
  if (begin < keys.end) k.load(begin);
#pragma unroll 1
  for (int first = begin; first < keys.end; first += kKeys) {
    wait_for_copies();  // of K
    barrier();          // and the last tile's V and sums have been read
    v.load(first);
    const bool attends = rows.attends(first, kKeys);
    TileC s[1][kKeyTiles];
    if (attends) {
      clear(s);
      if (part.dim < p.head_dim) add_transposed<T, 0, kSlice>(q, k.from(0, part.dim), 0, s);
      sums.put(s);
    }
    wait_for_copies();  // of V
    barrier();          // K has been read, and the sums are there
    if (first + kKeys < keys.end) k.load(first + kKeys);
    replace<kGeneral>(pass, v);
    if (!attends) continue;
    sums.get(s);
    Rounded<T, 1, kKeyTiles> weights;
    const bool partial = first < rows.keys.full_begin || first + kKeys > rows.keys.full_end;
    const auto row_of = [&](int row) { return ResultRow{block, rows.query(p, block, row)}; };
    probabilities<T, kGeneral, 2, kLazyRows<HeadDim>>(p, pass, partial, row_of, first, part.lane, s, softmax, o,
                                                      weights);
    add_product<T>(weights, v.from(0, part.dim), o);
  }

  barrier();  // V has been read
  return any_thread(store<HeadDim>(a, pass, softmax, o, shared)) || pass != kAll;
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_forward_args arguments) {
  extern __shared__ __align__(16) char shared[];
  using namespace rapt::nvidia;
  constexpr int kShort = kShortRows<RAPT_HEAD_DIM>;
  if (fits<kShort>(arguments.problem)) run_passes<kGeneral, forward<kShort>>(arguments, shared);
  else run_passes<kGeneral, forward<RAPT_HEAD_DIM>>(arguments, shared);
}
