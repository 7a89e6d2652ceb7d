// Like forward.hip, with the parts of a tile's work interleaved. The matrix unit multiplies K of the next tile with Q
// while the vector unit computes exp2 of this tile's logits. It multiplies V with P while the vector unit looks for the
// next tile's maximum. K and V are double-buffered in LDS, which takes one barrier a tile.
//
// The compiler's scheduler would undo the interleaving, so scheduling barriers separate chunks of one product each.
#include "kernels/amd/attention/attend.hpp"
#include "kernels/cdna/tile/double_buffer.hpp"
#include "kernels/cdna/tile/schedule.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES, kRows = kWaves * kTile;
inline constexpr int kSteps = kHeadDim / M::step, kKeyTiles = kKeys / kTile, kDimTiles = kHeadDim / kTile;
inline constexpr int kLogits = kKeyTiles * kRegisters;  // of a lane, per tile
inline constexpr int kChunksK = kKeyTiles * kSteps, kChunksV = kKeyTiles * kParts<T> * kDimTiles;  // products of a tile
inline constexpr int kProductsK = kChunksK * M::parts, kProductsV = kChunksV * M::parts;
inline constexpr int kMaximumAt = kProductsV > 4 ? 4 : 2;  // the product after which the next tile's logits are there
inline constexpr int kAhead = 3;                           // fragments read from LDS before the product that needs them
inline constexpr int kStageAt = 2;                         // the product after which the next tile goes to LDS
static_assert(!RAPT_GENERAL);
using StagedK = BufferedKeys<T, kHeadDim, kKeys, kWaves>;
#ifdef __gfx950__
using StagedV = BufferedValuesInRows<T, kHeadDim, kKeys, kWaves>;
#else
using StagedV = BufferedValues<T, kHeadDim, kKeys, kWaves>;
#endif
inline constexpr int kLdsBytes = 2 * (StagedK::bytes + StagedV::bytes);

// One wave's state between tiles.
struct State {
  M::B q[kSteps];
  Tile o[kDimTiles];
  Softmax<T, false> softmax;
  float maximum;  // of this lane's logits of the current tile
};

DEVICE void mask(Arguments& arguments, const Block& block, int pass, const WaveRows& rows, int first_key, int half,
                 Tile (&s)[kKeyTiles]) {
  Arguments& a = opaque_copy(arguments);
  if (pass != kAll) scale_first(exponent_scale(pass, a.problem.scale_log2), s);
  const Query query = rows.query(a.problem, block, opaque_thread_id() % kTile);
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t)
    exclude(TileLogits<M>{s[t], half}, query.begin - first_key - t * kTile, query.end - first_key - t * kTile);
}

DEVICE void multiply(const StagedK& k, int buffer, const State& state, Tile (&s)[kKeyTiles]) {
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t) {
    s[t] = Tile{};
#pragma unroll
    for (int c = 0; c < kSteps; ++c) s[t] = M::multiply(k.fragment(buffer, t, c), state.q[c], s[t]);
  }
}

DEVICE void rescale(State& state) {
  if (!any_lane(state.softmax.outgrown(state.maximum))) return;
  const float factor = state.softmax.raise_reference(state.maximum, 1);
#pragma unroll
  for (int d = 0; d < kDimTiles; ++d) state.o[d] *= factor;
}

// The tile in `s`, whose V is in `buffer`, and the products of the next one, whose K is in the other buffer.
DEVICE void step(StagedK& k, StagedV& v, int buffer, float scale, State& state, Tile (&s)[kKeyTiles],
                 Tile (&next)[kKeyTiles]) {
  M::A fragment[kChunksK + kChunksV];
  const auto read = [&](int i) {
    if (i >= kChunksK + kChunksV) return;
    fragment[i] = i < kChunksK ? k.fragment(buffer ^ 1, i / kSteps, i % kSteps)
                               : v.fragment(buffer, (i - kChunksK) % kDimTiles, (i - kChunksK) / kDimTiles);
  };
#pragma unroll
  for (int i = 0; i < kAhead; ++i) read(i);
  rescale(state);
  fence();

  f32x2 sum = {};
#pragma unroll
  for (int n = 0; n < kProductsK; ++n) {
    const int i = n / M::parts;
    if (n % M::parts == 0) read(i + kAhead);
    Tile& x = next[i / kSteps];
    x = M::multiply_part(fragment[i], state.q[i % kSteps], n % M::parts, n % (kSteps * M::parts) == 0 ? Tile{} : x);
    share<kLogits, kProductsK>(n, [&](int r) {
      Tile& tile = s[r / kRegisters];
      tile[r % kRegisters] = exp2(__builtin_fmaf(tile[r % kRegisters], scale, -state.softmax.reference));
      sum[r % 2] += tile[r % kRegisters];
    });
    if (n == kStageAt) v.stage(buffer ^ 1);
    fence();
  }
  float row_sum = sum[0] + sum[1];
  computed_here(row_sum);
  state.softmax.add(row_sum);

  float maximum = kMasked;
  M::B p = M::operand(s[0], 0);
#pragma unroll
  for (int n = 0; n < kProductsV; ++n) {
    const int i = n / M::parts, part = i / kDimTiles, d = i % kDimTiles;
    if (n % M::parts == 0) read(kChunksK + i + kAhead);
    state.o[d] = M::multiply_part(fragment[kChunksK + i], p, n % M::parts, state.o[d]);
    // Not at once: the last product's result is not there yet.
    if (n >= kMaximumAt)
      share<kLogits, kProductsV - kMaximumAt>(
          n - kMaximumAt, [&](int r) { maximum = max(maximum, next[r / kRegisters][r % kRegisters]); });
    if (d == kDimTiles - 1 && n % M::parts == M::parts - 1 && part + 1 < kKeyTiles * kParts<T>)
      p = M::operand(s[(part + 1) / kParts<T>], (part + 1) % kParts<T>);
    if (n == kStageAt) k.stage(buffer);
    fence();
  }
  state.maximum = maximum * scale;
}

DEVICE void load_q(Arguments& a, const Block& block, int row, int lane, M::B (&q)[kSteps]) {
  const char* const rows = first_row_of(a.q, block.batch, block.q, block.head);
  if (row < block.q.count)
    load_fragments<T>(rows + row * a.q.seq, a.problem.head_dim, aligned(rows, a.q.seq), M::b_offset(lane), q);
}

// The lane's row of Q arrives here: or else the loop would wait for all loads. Returns what lowers its products.
DEVICE float arrived(M::B (&q)[kSteps]) {
#pragma unroll
  for (M::B& x : q) asm volatile("" : "+v"(x));
  return raise_own<T>(q);
}

// One pass over the keys. Returns whether another must follow (not_finite.hpp).
DEVICE bool forward(Arguments& a, char* lds, int pass) {
  const Block block = block_of(a.problem, a.q_tiles, kRows);
  if (block.first_row >= block.q.count) return false;
  const int thread = opaque_thread_id();
  const auto part = WavePart<1, kHeadDim>::of(thread);
  const int lane = part.lane, half = lane / kTile, first_row = block.first_row + part.first_row;
  const WaveRows rows = {first_row, keys_in(pass, keys_of(a.problem, block, first_row, kTile))};
  const Keys keys = keys_of(a.problem, block, block.first_row, kRows);  // of the workgroup
  float scale = pass == kAll ? a.problem.scale_log2 : 1;                // that is left for exp2 (huge.hpp)

  State state = {};
  load_q(a, block, first_row + lane % kTile, lane, state.q);
  const auto [raised_k, raised_v] = raised_keys<T>(a, block, pass == kAll, keys, lane);
  scale *= arrived(state.q) * raised_k.undo();
  const int head_k = block.head / a.problem.group;
  StagedK k(first_row_of(a.k, block.batch, block.k, head_k), a.k.seq, a.problem.head_dim, keys, lds, thread, raised_k);
  StagedV v(first_row_of(a.v, block.batch, block.k, head_k), a.v.seq, a.problem.head_dim_v, keys,
            lds + 2 * StagedK::bytes, thread, pass, raised_v);

  Tile s[kKeyTiles];
  int first = keys.begin;
  if (first < keys.end) {
    k.start();
    v.start();
    barrier();
    k.stage(0);
    v.stage(0);
    k.stage(1);
    barrier();
    multiply(k, 0, state, s);
    if (first < rows.keys.full_begin || first + kKeys > rows.keys.full_end) mask(a, block, pass, rows, first, half, s);
    state.maximum = largest(s) * scale;
  }
  const auto advance = [&](int buffer, Tile(&current)[kKeyTiles], Tile(&next)[kKeyTiles]) {
    barrier();
    if (first >= rows.keys.end) {  // other waves' rows attend more keys
      v.stage(buffer ^ 1);
      k.stage(buffer);
      first += kKeys;
      return;
    }
    step(k, v, buffer, scale, state, current, next);
    first += kKeys;
    if (first < rows.keys.full_begin || first + kKeys > rows.keys.full_end) {
      mask(a, block, pass, rows, first, half, next);
      state.maximum = largest(next) * scale;
    }
  };
  // Two tiles a round, so that buffers are constants and logits need not be moved. If the number of tiles is odd, the
  // last one is all zeros and masked.
  Tile other[kKeyTiles];
  while (first < keys.end) {
    advance(0, s, other);
    advance(1, other, s);
  }

  lower<T>(state.o, raised_v.undo());
  const bool again = store<T, false, 1, kRows>(opaque_copy(a), pass, state.softmax, state.o);
  return pass != kAll || vote<kWaves>(again, lds);
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves* rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_forward_args) {
  __shared__ __attribute__((aligned(256))) static char lds[rapt::amd::kLdsBytes];
#pragma nounroll
  for (int pass = rapt::amd::kAll; pass < rapt::amd::kDropped; ++pass)
    if (!rapt::amd::forward(rapt::amd::opaque_copy(rapt::amd::arguments()), lds, pass)) break;
}
