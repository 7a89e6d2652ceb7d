// One tile of keys after its products with the queries: masks, softmax, and the product with V. A lane owns one query.
#pragma once

#include "kernels/amd/mask.hpp"
#include "kernels/amd/scores.hpp"
#include "kernels/amd/softmax.hpp"

namespace rapt::amd {

// The rows of one wave.
struct WaveRows {
  int first;  // within the sequence
  Keys keys;

  DEVICE_MEMBER bool attends(int first_key, int keys_of_tile) const {
    return first_key < keys.end && first_key + keys_of_tile > keys.begin;
  }
  DEVICE_MEMBER Query query(Arguments& a, const Block& b) const {
    const int row = first + thread_id_again() % kTile;
    return row < b.q.count ? Query{row, first_key(a, b, row), end_key(a, b, row)} : Query{row, 0, 0};
  }
};

template <int Tiles>
DEVICE float largest(const Tile (&s)[Tiles]) {
  float most = s[0][0];
#pragma unroll
  for (int t = 0; t < Tiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) most = max(most, s[t][r]);
  return most;
}

// Logits of keys first_key on, products before scaling, become probabilities; `o` is rescaled where the maximum grew.
template <class T, bool General, int KeyTiles, int DimTiles>
DEVICE void probabilities(Arguments& arguments, const Block& block, const WaveRows& rows, int first_key, int half,
                          Tile (&s)[KeyTiles], Softmax<T>& softmax, Tile (&o)[DimTiles]) {
  using M = Matrix<T>;
  const float scale = General ? 1 : arguments.scale_log2;
  if constexpr (General) {
    Arguments& a = here(arguments);
    const Query query = rows.query(a, block);
#pragma unroll
    for (int t = 0; t < KeyTiles; ++t) transform_logits<M>(a, block, query, first_key + t * kTile, half, s[t]);
  } else if (first_key < rows.keys.full_begin || first_key + KeyTiles * kTile > rows.keys.full_end) {
    Arguments& a = here(arguments);
    const Query query = rows.query(a, block);
#pragma unroll
    for (int t = 0; t < KeyTiles; ++t)
      exclude<M>(s[t], half, query.begin - first_key - t * kTile, query.end - first_key - t * kTile);
  }

  const float most = largest(s) * scale;
  if (softmax.outgrown(most)) {
    const float factor = softmax.move(most);
#pragma unroll
    for (int t = 0; t < DimTiles; ++t) o[t] *= factor;
  }
  f32x2 sum = {};
#pragma unroll
  for (int t = 0; t < KeyTiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; r += 2) {
      const f32x2 x = __builtin_elementwise_fma(f32x2{s[t][r], s[t][r + 1]}, f32x2(scale), f32x2(-softmax.reference));
      s[t][r] = exp2(x[0]);
      s[t][r + 1] = exp2(x[1]);
      sum += f32x2{s[t][r], s[t][r + 1]};
    }
  softmax.add(sum[0] + sum[1]);
  if (General && here(arguments).keep_threshold < 65536) {
    Arguments& a = here(arguments);
    const Query query = rows.query(a, block);
#pragma unroll
    for (int t = 0; t < KeyTiles; ++t) drop<M>(a, block, query, first_key + t * kTile, half, s[t]);
  }
}

// O^T += V^T P^T. row(n) is place n of the V^T rows that this wave computes.
template <class T, int KeyTiles, int DimTiles, class F>
DEVICE void accumulate(const Tile (&p)[KeyTiles], int lane, F row, Tile (&o)[DimTiles]) {
  using M = Matrix<T>;
  constexpr int parts = KeyTiles * kParts<T>;
#pragma unroll
  for (int i = 0; i < parts; ++i) {
    const typename M::B operand = M::operand(p[i / kParts<T>], i % kParts<T>);
#pragma unroll
    for (int d = 0; d < DimTiles; ++d)
      o[d] = M::multiply(fragment<M>(row(d * kTile + M::a_row(lane)), i, lane), operand, o[d]);
  }
}

// A mask that is the same for all queries excludes keys from every row: V may hold anything there, Inf and NaN too,
// whose product with 0 is NaN. `v` has keys from first_key on in LDS.
template <class Values>
DEVICE void clear_masked(Arguments& a, const Block& b, int first_key, const Values& v) {
  if (a.mask.data == nullptr || a.mask.query != 0) return;
  barrier();
  v.clear(first_key, b.k.count, row_of(a.mask, b, 0), a.mask.key);
}

DEVICE float sink_of(Arguments& a, const Block& b) {
  if (a.sink.data == nullptr) return kMasked;
  return kLog2e * load_as_float(static_cast<const char*>(a.sink.data) + b.head * a.sink.head, a.sink_dtype);
}

// What this lane's row of `out` is to be multiplied by.
template <class T, bool General>
DEVICE float finish(Arguments& a, const Block& b, Softmax<T>& softmax) {
  return softmax.finish(sink_of(a, b)) * (General ? a.keep_scale : 1);
}

DEVICE void store_lse(Arguments& a, const Block& b, int row, float lse) {
  if (a.lse.data == nullptr) return;
  char* const head = reinterpret_cast<char*>(a.lse.data) + b.batch * a.lse.batch + b.head * a.lse.head;
  *reinterpret_cast<float*>(head + (b.q.first + row) * a.lse.query) = lse;
}

}  // namespace rapt::amd
