// Forward attention without matrix units: a lane owns one query, with its rows of q and O and its logits in registers.
// K and V are the other operand of its products, in scalar registers (scalar_rows.hpp): no tile goes through LDS.
//
// RAPT_HEAD_SLICES waves share 64 queries, each with a slice of the head dimension. Each multiplies its slice of q and
// K. The products are summed through LDS; each wave computes the same softmax, and its slice of O.
#include "kernels/amd/attention/attend.hpp"
#include "kernels/amd/tile/head_slices.hpp"
#include "kernels/dot/tile/scalar_rows.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kSlices = RAPT_HEAD_SLICES;
inline constexpr int kRows = kWaves / kSlices * kTile, kSlice = kHeadDim / kSlices;
inline constexpr int kSteps = kSlice / M::step, kKeyTiles = kKeys / kTileRows, kDimTiles = kSlice / kTileRows;
inline constexpr bool kGeneral = RAPT_GENERAL;
// General kernels in fp16 have P in float32. In fp16 an element of out missed the rule by 7 %, where a mask and dropout
// leave few keys.
using Pair = typename Choose<__is_same(T, fp16) && !kGeneral, HalfWeights, Weights>::type;
using Sums = SliceSums<kKeyTiles, kSlices, kWaves>;
// A wave's part of LDS has its sums, and before them the rows that it cannot load directly. With slices there are two
// parts, in turn: others read the sums of one while the wave has its rows in the other.
using Staged = ScalarRows<T, kSlice, false>;
inline constexpr int kPartBytes = kSlices == 1 ? Staged::staged_bytes(kKeys) : Sums::wave_bytes;
inline constexpr int kTurnBytes = kWaves * kPartBytes, kLdsBytes = (kSlices == 1 ? 1 : 2) * kTurnBytes;
static_assert(Staged::staged_bytes(kKeys) <= kPartBytes);

// One pass over the keys. Direct: rows of K and V are loaded as they are; only in the first pass. Returns whether
// another pass must follow (not_finite.hpp).
template <bool Direct>
DEVICE bool forward(Arguments& a, char* lds, int pass) {
  const Block block = block_of(a.problem, a.q_tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  if (!Direct) barrier();  // the last pass's vote has been read
  const auto part = WavePart<kSlices, kSlice>::of(opaque_thread_id());
  const int first_row = block.first_row + part.first_row;
  const Keys own = keys_of(a.problem, block, first_row, kTile);
  const WaveRows rows = {first_row, keys_in(pass, own)};
  // Waves that share rows meet at barriers, so they go over the workgroup's keys.
  const Keys keys = kSlices == 1 ? own : keys_of(a.problem, block, block.first_row, kRows);

  M::B q[kSteps] = {};
  const SliceRows<T> q_rows = slice_rows<T>(a.q, block.batch, block.q, block.head, part.slice, a.problem.head_dim);
  if (const int row = first_row + part.lane; row < block.q.count) q_rows.load(row, 0, q);
  Tile o[kDimTiles] = {};
  Softmax<T, kGeneral> softmax;

  const int head_k = block.head / a.problem.group;
  const ScalarRows<T, kSlice, Direct> k(first_row_of(a.k, block.batch, block.k, head_k), a.k.seq, a.problem.head_dim,
                                        part.slice, keys, kAll);
  const ScalarRows<T, kSlice, Direct> v(first_row_of(a.v, block.batch, block.k, head_k), a.v.seq, a.problem.head_dim_v,
                                        part.slice, keys, pass);
  const Parked of_block(block);
  const Parked of_rows(rows);
#pragma nounroll
  for (int first = keys.begin / kKeys * kKeys; first < keys.end; first += kKeys) {
    const bool attends = kSlices == 1 || of_rows.here().attends(first, kKeys);
    const int turn = kSlices == 1 ? 0 : first / kKeys % 2 * kTurnBytes;
    const int wave = uniform(opaque_thread_id() / kWave);
    Tile s[kKeyTiles];
    if (attends) k.multiply(first, lds + turn + wave * kPartBytes, q, s);
    if constexpr (kSlices > 1) {
      const Sums sums = {lds + turn, wave, opaque_thread_id() % kWave};
      if (attends) sums.store(s);
      barrier();
      if (attends) sums.load(s);
    }
    if (!attends) continue;
    probabilities<T, kGeneral>(a, pass, of_block.here(), of_rows.here(), first, 0, s, softmax, o);
    v.template accumulate<Pair>(first, lds + (kSlices == 1 ? 0 : kTurnBytes - turn) + wave * kPartBytes, s, o);
  }

  const bool again = store<T, kGeneral, kSlices, kRows>(opaque_copy(a), pass, softmax, o);
  return pass != kAll || vote<kWaves>(again, lds);
}

// Whether rows of K and V are whole words at whole addresses.
DEVICE bool has_words(Arguments& a) {
  const auto in_words = [](const auto& rows, int dims) {
    return aligned(static_cast<const char*>(rows.data), rows.batch | rows.seq | rows.head) && dims * M::size % 4 == 0;
  };
  return in_words(a.k, a.problem.head_dim) && in_words(a.v, a.problem.head_dim_v);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_forward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[kLdsBytes];
  int pass = kAll;
  if (has_words(arguments())) {
    if (!forward<true>(opaque_copy(arguments()), lds, kAll)) return;
    pass = kFinite;
  }
#pragma nounroll
  for (; pass < passes<kGeneral>(arguments().problem); ++pass)
    if (!forward<false>(opaque_copy(arguments()), lds, pass)) break;
}
