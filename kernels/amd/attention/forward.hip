// Forward attention on matrix units: S^T = K Q^T, O^T = V^T P^T. A lane owns one query, so softmax needs only one other
// lane, half a wave away. The first product's result has the layout that the second product takes as an operand.
//
// A workgroup of RAPT_WAVES waves computes RAPT_WAVES * kTile rows of one head, kTile per wave, in tiles of
// RAPT_BLOCK_K keys. A variant is RAPT_HEAD_DIM (any head_dim and head_dim_v up to it), RAPT_DTYPE and RAPT_GENERAL.
#include "kernels/amd/attention/attend.hpp"
#include "kernels/amd/tile/lds_rows.hpp"
#include "kernels/amd/tile/lds_columns.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kRows = kWaves * kTile;
inline constexpr int kSteps = kHeadDim / M::step;  // fragments of a row of q or k
inline constexpr int kKeyTiles = kKeys / kTile, kDimTiles = kHeadDim / kTile;
inline constexpr bool kGeneral = RAPT_GENERAL;
using StagedK = StagedRows<T, kHeadDim, kKeys, kWaves>;
using StagedV = StagedValues<T, kHeadDim, kKeys, kWaves>;

// One pass over the keys. Returns whether another must follow (not_finite.hpp).
DEVICE bool forward(Arguments& a, char* lds, int pass) {
  const Block block = block_of(a.problem, a.q_tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = opaque_thread_id();
  const auto part = WavePart<1, kHeadDim>::of(thread);
  const int lane = part.lane, first_row = block.first_row + part.first_row;
  const WaveRows rows = {first_row, keys_in(pass, keys_of(a.problem, block, first_row, kTile))};
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);  // of the workgroup

  M::B q[kSteps] = {};
  const char* const q_rows = first_row_of(a.q, block.batch, block.q, block.head);
  if (const int row = first_row + lane % kTile; row < block.q.count)
    load_fragments<T>(q_rows + row * a.q.seq, a.problem.head_dim, aligned(q_rows, a.q.seq), M::b_offset(lane), q);
  const float own = raise_own<T>(q);
  Tile o[kDimTiles] = {};
  Softmax<T, kGeneral> softmax;

  const int head_k = block.head / a.problem.group;
  const auto [raised_k, raised_v] = raised_keys<T>(a, block, pass == kAll, keys, lane);
  StagedK k(first_row_of(a.k, block.batch, block.k, head_k), a.k.seq, a.problem.head_dim, keys, lds, thread, raised_k);
  StagedV v(first_row_of(a.v, block.batch, block.k, head_k), a.v.seq, a.problem.head_dim_v, keys, lds + StagedK::bytes,
            thread, pass, raised_v);
  const int begin = keys.begin / kKeys * kKeys;
  if (begin < keys.end) {
    k.load(begin);
    v.load(begin);
  }
  for (int first = begin; first < keys.end; first += kKeys) {
    barrier();
    k.store(first);
    v.store(first);
    barrier();
    const bool attends = rows.attends(first, kKeys);
    Tile s[kKeyTiles];
    if (attends) {
#pragma unroll
      for (int t = 0; t < kKeyTiles; ++t) {
        s[t] = Tile{};
#pragma unroll
        for (int c = 0; c < kSteps; ++c)
          s[t] = M::multiply(fragment<M>(k.row(t * kTile + M::a_row(lane)), c, lane), q[c], s[t]);
      }
      lower<T>(s, own * raised_k.undo());
    }
    // Not earlier: the first product needs the registers that these loads fill.
    if (first + kKeys < keys.end) {
      k.load(first + kKeys);
      v.load(first + kKeys);
    }
    if (!attends) continue;
    probabilities<T, kGeneral>(a, pass, block, rows, first, lane / kTile, s, softmax, o);
    accumulate<T>(s, lane, v, 0, o);
  }
  lower<T>(o, raised_v.undo());

  const bool again = store<T, kGeneral, 1, kRows>(opaque_copy(a), pass, softmax, o);
  return pass != kAll || vote<kWaves>(again, lds);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_forward_args) {
  using namespace rapt::amd;
  __shared__ __attribute__((aligned(16))) static char lds[StagedK::bytes + StagedV::bytes];
#pragma nounroll
  for (int pass = kAll; pass < passes<kGeneral>(arguments().problem); ++pass)
    if (!forward(opaque_copy(arguments()), lds, pass)) break;
}
