// Forward attention on matrix units: S^T = K Q^T, O^T = V^T P^T. A lane owns one query, so that softmax needs no other
// lane but the one half a wave away, and P^T leaves the first product in the form that the second takes.
//
// A workgroup of RAPT_WAVES waves computes RAPT_WAVES * kTile rows of one head, a wave kTile of them, in tiles of
// RAPT_BLOCK_K keys. One variant: RAPT_HEAD_DIM (any head_dim and head_dim_v up to it), RAPT_DTYPE, RAPT_GENERAL.
#include "kernels/amd/mask.hpp"
#include "kernels/amd/scores.hpp"
#include "kernels/amd/softmax.hpp"
#include "kernels/amd/stage.hpp"

namespace rapt::amd {

using T = RAPT_DTYPE;
using M = Matrix<T>;
inline constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = RAPT_BLOCK_K, kWaves = RAPT_WAVES;
inline constexpr int kElement = sizeof(T::element), kRows = kWaves * kTile;
inline constexpr int kSteps = kHeadDim * kElement / kStepBytes;  // fragments of a row of q or k
inline constexpr int kKeyTiles = kKeys / kTile, kDimTiles = kHeadDim / kTile;
inline constexpr int kParts = kRegisters / M::each;  // fragments of a tile of P^T
inline constexpr bool kGeneral = RAPT_GENERAL;
using Staged = Stage<T, kHeadDim, kKeys, kWaves>;

DEVICE void load_query(const char* row, int head_dim, bool aligned, int half, M::Fragment (&q)[kSteps]) {
  constexpr int dims = M::fragment_bytes / kElement, chunk = 16 / kElement;
  const int from = M::offset(half) / kElement;
  if (aligned && head_dim % chunk == 0) {
#pragma unroll
    for (int c = 0; c < kSteps; ++c)
#pragma unroll
      for (int part = 0; part < dims; part += chunk) {
        const int dim = c * M::step + from + part;
        u32x4 x = {};
        if (dim < head_dim) x = load_unaligned<u32x4, kElement>(row + dim * kElement);
#pragma unroll
        for (int i = 0; i < 4; ++i) q[c][part / chunk * 4 + i] = x[i];
      }
  } else {
#pragma unroll
    for (int c = 0; c < kSteps; ++c) {
      vec<T::element, dims> x;
#pragma unroll
      for (int i = 0; i < dims; ++i) {
        const int dim = c * M::step + from + i;
        const T::element value = load_unaligned<T::element, kElement>(row + min(dim, head_dim - 1) * kElement);
        x[i] = dim < head_dim ? value : T::element{};
      }
      q[c] = __builtin_bit_cast(M::Fragment, x);
    }
  }
}

DEVICE void store_row(char* row, int head_dim_v, bool aligned, int half, float factor, const Tile (&o)[kDimTiles]) {
#pragma unroll
  for (int t = 0; t < kDimTiles; ++t)
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      vec<T::element, M::each> out;
#pragma unroll
      for (int i = 0; i < M::each; ++i) out[i] = T::round(o[t][part * M::each + i] * factor);
      const int dim = t * kTile + M::element(part * M::each, half);
      if (aligned && dim + M::each <= head_dim_v) store_unaligned<decltype(out), kElement>(row + dim * kElement, out);
      else
#pragma unroll
        for (int i = 0; i < M::each; ++i)
          if (dim + i < head_dim_v) store_unaligned<T::element, kElement>(row + (dim + i) * kElement, out[i]);
    }
}

DEVICE float largest(const Tile (&s)[kKeyTiles]) {
  float most = s[0][0];
#pragma unroll
  for (int t = 0; t < kKeyTiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) most = max(most, s[t][r]);
  return most;
}

DEVICE float sink_of(const Arguments& a, const Block& b) {
  if (a.sink.data == nullptr) return kMasked;
  return kLog2e * load_as_float(static_cast<const char*>(a.sink.data) + b.head * a.sink.head, a.sink_dtype);
}

DEVICE void forward(const Arguments& a, char* lds) {
  const Block block = block_of(a, kRows);
  if (block.first_row >= block.seqlen_q) return;
  const int lane = thread_id() % kWave, half = lane / kTile, wave = uniform(thread_id() / kWave);
  const int first_row = block.first_row + wave * kTile;  // of the wave

  M::Fragment q[kSteps] = {};
  if (const int row = first_row + lane % kTile; row < block.seqlen_q)
    load_query(block.q + row * a.q.seq, a.head_dim, aligned(block.q, a.q.seq), half, q);
  Tile o[kDimTiles] = {};
  Softmax<T> softmax;
  const Keys keys = keys_of(a, block, block.first_row, kRows);  // of the workgroup
  const Keys own = keys_of(a, block, first_row, kTile);      // of the wave
  const float scale = kGeneral ? 1 : a.scale_log2;

  Staged stage(block.k, a.k.seq, a.head_dim, block.v, a.v.seq, a.head_dim_v, block.seqlen_k, lds);
  const int begin = keys.begin / kKeys * kKeys;
  if (begin < keys.end) stage.load(begin);
  for (int first = begin; first < keys.end; first += kKeys) {
    barrier();
    stage.store(first);
    barrier();
    const bool attends = first < own.end && first + kKeys > own.begin;
    Tile s[kKeyTiles];
    if (attends) {
#pragma unroll
      for (int t = 0; t < kKeyTiles; ++t) {
        const char* const k = stage.k_row(t * kTile + lane % kTile);
        s[t] = Tile{};
#pragma unroll
        for (int c = 0; c < kSteps; ++c) s[t] = M::multiply(fragment<M>(k, c, half), q[c], s[t]);
      }
    }
    // Not before: the registers that the next tile waits in are needed by the first product.
    if (first + kKeys < keys.end) stage.load(first + kKeys);
    if (!attends) continue;

    const auto query = [&] {
      const int i = first_row + thread_id_again() % kTile;
      return i < block.seqlen_q ? Query{i, first_key(a, block, i), end_key(a, block, i)} : Query{i, 0, 0};
    };
    if constexpr (kGeneral) {
#pragma unroll
      for (int t = 0; t < kKeyTiles; ++t) transform_logits<M>(a, block, query(), first + t * kTile, half, s[t]);
    } else if (first < own.full_begin || first + kKeys > own.full_end) {
      const Query i = query();
#pragma unroll
      for (int t = 0; t < kKeyTiles; ++t)
        exclude<M>(s[t], half, i.begin - first - t * kTile, i.end - first - t * kTile);
    }

    const float most = largest(s) * scale;
    if (softmax.outgrown(most)) {
      const float factor = softmax.move(most);
#pragma unroll
      for (int t = 0; t < kDimTiles; ++t) o[t] *= factor;
    }
    f32x2 sum = {};
#pragma unroll
    for (int t = 0; t < kKeyTiles; ++t)
#pragma unroll
      for (int r = 0; r < kRegisters; r += 2) {
        const f32x2 x = __builtin_elementwise_fma(f32x2{s[t][r], s[t][r + 1]}, f32x2(scale), f32x2(-softmax.reference));
        s[t][r] = exp2(x[0]);
        s[t][r + 1] = exp2(x[1]);
        sum += f32x2{s[t][r], s[t][r + 1]};
      }
    softmax.add(sum[0] + sum[1]);
    if (kGeneral && a.keep_threshold < 65536) {
#pragma unroll
      for (int t = 0; t < kKeyTiles; ++t) drop<M>(a, block, query(), first + t * kTile, half, s[t]);
    }

#pragma unroll
    for (int t = 0; t < kKeyTiles; ++t)
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        float p[M::each];
#pragma unroll
        for (int i = 0; i < M::each; ++i) p[i] = s[t][part * M::each + i];
        const M::Fragment p_t = p_fragment<T>(p);
#pragma unroll
        for (int d = 0; d < kDimTiles; ++d) {
          const char* const v = stage.v_row(d * kTile + lane % kTile);
          o[d] = M::multiply(fragment<M>(v, t * kParts + part, half), p_t, o[d]);
        }
      }
  }

  const float factor = softmax.finish(sink_of(a, block)) * (kGeneral ? a.keep_scale : 1);
  const int again = thread_id_again() % kWave, row = first_row + again % kTile;
  if (row >= block.seqlen_q) return;
  store_row(block.out + row * a.out.seq, a.head_dim_v, aligned(block.out, a.out.seq), again / kTile, factor, o);
  if (block.lse != nullptr && again < kTile)
    *reinterpret_cast<float*>(reinterpret_cast<char*>(block.lse) + row * a.lse.query) = softmax.lse();
}

}  // namespace rapt::amd

KERNEL(rapt::amd::kWaves * rapt::amd::kWave, RAPT_WAVES_PER_EU) RAPT_SYMBOL(rapt_forward_args a) {
  __shared__ __attribute__((aligned(16))) static char lds[rapt::amd::Staged::bytes];
  rapt::amd::forward(a, lds);
}
