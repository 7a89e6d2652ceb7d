// Forward attention on matrix units: S^T = K Q^T, O^T = V^T P^T. A lane owns one query, so that softmax needs no other
// lane but the one half a wave away, and P^T leaves the first product in the form that the second takes.
//
// A workgroup of RAPT_WAVES waves computes RAPT_WAVES * kTile rows of one head, a wave kTile of them, in tiles of
// RAPT_BLOCK_K keys. One variant: RAPT_HEAD_DIM (any head_dim and head_dim_v up to it), RAPT_DTYPE, RAPT_GENERAL.
#include "kernels/amd/attend.hpp"
#include "kernels/amd/stage_keys.hpp"
#include "kernels/amd/stage_values.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kRows = kWaves * kTile;
inline constexpr int kSteps = kHeadDim / M::step;  // fragments of a row of q or k
inline constexpr int kKeyTiles = kKeys / kTile, kDimTiles = kHeadDim / kTile;
inline constexpr bool kGeneral = RAPT_GENERAL;
using StagedK = StagedKeys<T, kHeadDim, kKeys, kWaves>;
using StagedV = StagedValues<T, kHeadDim, kKeys, kWaves>;

DEVICE void forward(const Arguments& a, char* lds) {
  const Block block = block_of(a, kRows);
  if (block.first_row >= block.seqlen_q) return;
  const int lane = thread_id() % kWave, wave = uniform(thread_id() / kWave);
  const int first_row = block.first_row + wave * kTile;
  const WaveRows rows = {first_row, keys_of(a, block, first_row, kTile)};
  const Keys keys = keys_of(a, block, block.first_row, kRows);  // of the workgroup

  M::B q[kSteps] = {};
  if (const int row = first_row + lane % kTile; row < block.seqlen_q)
    load_fragments<T>(block.q + row * a.q.seq, a.head_dim, aligned(block.q, a.q.seq), M::b_offset(lane), q);
  Tile o[kDimTiles] = {};
  Softmax<T> softmax;

  StagedK k(block.k, a.k.seq, a.head_dim, block.seqlen_k, lds);
  StagedV v(block.v, a.v.seq, a.head_dim_v, block.seqlen_k, lds + StagedK::bytes);
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
    }
    // Not before: the registers that the next tile waits in are needed by the first product.
    if (first + kKeys < keys.end) {
      k.load(first + kKeys);
      v.load(first + kKeys);
    }
    if (!attends) continue;
    probabilities<T, kGeneral>(a, block, rows, first, lane / kTile, s, softmax, o);
    accumulate<T>(s, lane, [&](int place) { return v.row(place); }, o);
  }

  const float factor = finish<T, kGeneral>(a, block, softmax);
  const int again = thread_id_again() % kWave, row = first_row + again % kTile;
  if (row >= block.seqlen_q) return;
  store_result<T>(block.out + row * a.out.seq, a.head_dim_v, aligned(block.out, a.out.seq), again, factor, o);
  if (again < kTile) store_lse(a, block, row, softmax.lse());
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves * rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_forward_args a) {
  __shared__ __attribute__((aligned(16))) static char lds[rapt::amd::StagedK::bytes + rapt::amd::StagedV::bytes];
  rapt::amd::forward(a, lds);
}
