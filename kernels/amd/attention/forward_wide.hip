// Like forward.hip, for rows of q and O that do not fit in one wave's registers: RAPT_HEAD_SLICES waves share the rows,
// each with a slice of the head dimension. Each multiplies its slice of q and k, the products are summed through LDS,
// and each wave computes the same softmax and its own slice of O.
//
// K is loaded from memory straight into fragments: waves that share rows read different slices of each key.
#include "kernels/amd/attention/attend.hpp"
#include "kernels/amd/tile/values.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kSlices = RAPT_HEAD_SLICES;
inline constexpr int kRows = kWaves / kSlices * kTile, kSlice = kHeadDim / kSlices;
inline constexpr int kSteps = kSlice / M::step, kKeyTiles = kKeys / kTile, kDimTiles = kSlice / kTile;
inline constexpr int kAtOnce = kSteps % 3 == 0 ? 3 : 64 / sizeof(M::A);  // fragments of k held in registers
static_assert(kSteps % kAtOnce == 0);
inline constexpr bool kGeneral = RAPT_GENERAL;
using StagedV = StagedValues<T, kHeadDim, kKeys, kWaves>;

// The products of each wave, to be summed: [wave][tile][register / 4][lane] of 4 registers.
inline constexpr int kSumBytes = kKeyTiles * kRegisters * 4 * kWave, kSumsBytes = kWaves * kSumBytes;
// If V and the sums do not both fit, V overwrites the sums after they have been read.
inline constexpr bool kSeparateSums = StagedV::bytes + kSumsBytes <= kLdsLimit;
inline constexpr int kLdsBytes = kSeparateSums                 ? StagedV::bytes + kSumsBytes
                                 : StagedV::bytes > kSumsBytes ? StagedV::bytes
                                                               : kSumsBytes;

DEVICE f32x4* sums_of(char* lds, int wave, int tile, int part) {
  return reinterpret_cast<f32x4*>(lds + wave * kSumBytes) + (tile * (kRegisters / 4) + part) * kWave;
}

DEVICE void store_sums(char* lds, int wave, int lane, const Tile (&s)[kKeyTiles]) {
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; r += 4)
      sums_of(lds, wave, t, r / 4)[lane] = f32x4{s[t][r], s[t][r + 1], s[t][r + 2], s[t][r + 3]};
}

// Every wave adds in the same order, so all get the same sums.
DEVICE void load_sums(char* lds, int wave, int lane, Tile (&s)[kKeyTiles]) {
  const int group = wave / kSlices * kSlices;
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; r += 4) {
      f32x4 sum = sums_of(lds, group, t, r / 4)[lane];
#pragma unroll
      for (int i = 1; i < kSlices; ++i) sum += sums_of(lds, group + i, t, r / 4)[lane];
#pragma unroll
      for (int i = 0; i < 4; ++i) s[t][r + i] = sum[i];
    }
}

// One pass over the keys. Returns whether another must follow (not_finite.hpp).
DEVICE bool forward(Arguments& a, char* lds, int pass) {
  const Block block = block_of(a.problem, a.q_tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = opaque_thread_id();
  const auto part = WavePart<kSlices, kSlice>::of(thread);
  const int lane = part.lane, wave = uniform(thread / kWave), slice = part.slice;
  const int first_row = block.first_row + part.first_row;
  const WaveRows rows = {first_row, keys_of(a.problem, block, first_row, kTile)};
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);
  const int slice_bytes = slice * static_cast<int>(sizeof(T::element));

  M::B q[kSteps] = {};
  const char* const q_rows = first_row_of(a.q, block.batch, block.q, block.head);
  if (const int row = first_row + lane % kTile; row < block.q.count)
    load_fragments<T>(q_rows + row * a.q.seq + slice_bytes, a.problem.head_dim - slice, aligned(q_rows, a.q.seq),
                      M::b_offset(lane), q);
  Tile o[kDimTiles] = {};
  Softmax<T, kGeneral> softmax;

  const int head_k = block.head / a.problem.group;
  const char* const k_rows = first_row_of(a.k, block.batch, block.k, head_k);
  char* const sums = kSeparateSums ? lds + StagedV::bytes : lds;
  StagedV v(first_row_of(a.v, block.batch, block.k, head_k), a.v.seq, a.problem.head_dim_v, keys, lds, thread, pass);
  const int begin = keys.begin / kKeys * kKeys;
  if (begin < keys.end) v.load(begin);
  for (int first = begin; first < keys.end; first += kKeys) {
    const bool attends = rows.attends(first, kKeys);
    Tile s[kKeyTiles];
    if (attends) {
#pragma unroll
      for (int t = 0; t < kKeyTiles; ++t) {
        // Keys past the last one are masked later, so any row will do for them.
        const int key = min(first + t * kTile + M::unslot(M::a_row(lane)), block.k.count - 1);
        const char* const row = k_rows + key * a.k.seq + slice_bytes;
        const int dims = opaque_uniform(a.problem.head_dim) - slice;
        s[t] = Tile{};
#pragma unroll
        for (int first_step = 0; first_step < kSteps; first_step += kAtOnce) {
          M::A k[kAtOnce];
          load_fragments<T>(row + first_step * kStepBytes, dims - first_step * M::step, aligned(k_rows, a.k.seq),
                            M::a_offset(lane), k);
#pragma unroll
          for (int c = 0; c < kAtOnce; ++c) s[t] = M::multiply(k[c], q[first_step + c], s[t]);
        }
      }
    }
    barrier();
    if (attends) store_sums(sums, wave, lane, s);
    if (kSeparateSums) v.store(first);
    barrier();
    if (attends) load_sums(sums, wave, lane, s);
    if (!kSeparateSums) {
      barrier();
      v.store(first);
      barrier();
    }
    if (first + kKeys < keys.end) v.load(first + kKeys);
    if (!attends) continue;
    probabilities<T, kGeneral>(a, pass, block, rows, first, lane / kTile, s, softmax, o);
    accumulate<T>(s, lane, v, slice, o);
  }

  const bool again = store<T, kGeneral, kSlices, kRows>(opaque_copy(a), pass, softmax, o);
  return pass != kAll || vote<kWaves>(again, lds);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_forward_args) {
  __shared__ __attribute__((aligned(16))) static char lds[rapt::amd::kLdsBytes];
#pragma nounroll
  for (int pass = rapt::amd::kAll; pass < rapt::amd::kPasses; ++pass)
    if (!rapt::amd::forward(rapt::amd::opaque_copy(rapt::amd::arguments()), lds, pass)) break;
}
