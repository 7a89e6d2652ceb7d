// Like forward.hip, for rows of q and O that do not fit in one wave's registers: RAPT_HEAD_SLICES waves share the rows,
// each with a slice of the head dimension. Each multiplies its slice of q and k, the products are summed through LDS,
// and each wave computes the same softmax and its own slice of O.
//
// K is loaded from memory straight into fragments: waves that share rows read different slices of each key.
#include "kernels/amd/attention/attend.hpp"
#include "kernels/amd/tile/head_slices.hpp"
#include "kernels/amd/tile/lds_columns.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kSlices = RAPT_HEAD_SLICES;
inline constexpr int kRows = kWaves / kSlices * kTile, kSlice = kHeadDim / kSlices;
inline constexpr int kSteps = kSlice / M::step, kKeyTiles = kKeys / kTile, kDimTiles = kSlice / kTile;
inline constexpr bool kGeneral = RAPT_GENERAL;
// P is two numbers of 16 bits: with one, elements of fp16 missed the rule by 2 and 9 % where masks leave few keys.
inline constexpr bool kTwoParts = __is_same(T, fp16) && kHeadDim > 512;
using StagedV = StagedValues<T, kHeadDim, kKeys, kWaves>;

using Sums = SliceSums<kKeyTiles, kSlices, kWaves>;
// If V and the sums do not both fit, V overwrites the sums after they have been read.
inline constexpr bool kSeparateSums = StagedV::bytes + Sums::bytes <= kLdsLimit;
inline constexpr int kLdsBytes = kSeparateSums                  ? StagedV::bytes + Sums::bytes
                                 : StagedV::bytes > Sums::bytes ? StagedV::bytes
                                                                : Sums::bytes;

// One pass over the keys. Returns whether another must follow (not_finite.hpp).
DEVICE bool forward(Arguments& a, char* lds, int pass) {
  const Block block = block_of(a.problem, a.q_tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = opaque_thread_id();
  const auto part = WavePart<kSlices, kSlice>::of(thread);
  const int lane = part.lane, wave = uniform(thread / kWave), slice = part.slice;
  const int first_row = block.first_row + part.first_row;
  const WaveRows rows = {first_row, keys_in(pass, keys_of(a.problem, block, first_row, kTile))};
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);

  M::B q[kSteps] = {};
  const SliceRows<T> q_rows = slice_rows<T>(a.q, block.batch, block.q, block.head, slice, a.problem.head_dim);
  if (const int row = first_row + lane % kTile; row < block.q.count) q_rows.load(row, M::b_offset(lane), q);
  const float own = raise_own<T>(q);
  Tile o[kDimTiles] = {};
  Softmax<T, kGeneral> softmax;
  const int head_k = block.head / a.problem.group;
  const SliceRows<T> k_rows = slice_rows<T>(a.k, block.batch, block.k, head_k, slice, a.problem.head_dim);
  const Sums sums = {kSeparateSums ? lds + StagedV::bytes : lds, wave, lane};
  const auto [raised_k, raised_v] = raised_keys<T>(a, block, pass == kAll, keys, lane);
  StagedV v(first_row_of(a.v, block.batch, block.k, head_k), a.v.seq, a.problem.head_dim_v, keys, lds, thread, pass,
            raised_v);
  const int begin = keys.begin / kKeys * kKeys;
  if (begin < keys.end) v.load(begin);
  for (int first = begin; first < keys.end; first += kKeys) {
    const bool attends = rows.attends(first, kKeys);
    Tile s[kKeyTiles];
    if (attends) {
#pragma unroll
      for (int t = 0; t < kKeyTiles; ++t) s[t] = Tile{};
      k_rows.multiply(first, lane, q, s, raised_k);
      lower<T>(s, own * raised_k.undo());
    }
    barrier();
    if (attends) sums.store(s);
    if (kSeparateSums) v.store(first);
    barrier();
    if (attends) sums.load(s);
    if (!kSeparateSums) {
      barrier();
      v.store(first);
      barrier();
    }
    if (first + kKeys < keys.end) v.load(first + kKeys);
    if (!attends) continue;
    probabilities<T, kGeneral>(a, pass, block, rows, first, lane / kTile, s, softmax, o);
    accumulate<T>(s, lane, v, slice, o);
    if constexpr (kTwoParts) {
#pragma unroll
      for (auto& tile : s)
#pragma unroll
        for (int r = 0; r < kRegisters; ++r) tile[r] -= T::to_float(T::round(tile[r]));
      accumulate<T>(s, lane, v, slice, o);
    }
  }
  lower<T>(o, raised_v.undo());

  const bool again = store<T, kGeneral, kSlices, kRows>(opaque_copy(a), pass, softmax, o);
  return pass != kAll || vote<kWaves>(again, lds);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_forward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[kLdsBytes];
#pragma nounroll
  for (int pass = kAll; pass < passes<kGeneral>(arguments().problem); ++pass)
    if (!forward(opaque_copy(arguments()), lds, pass)) break;
}
