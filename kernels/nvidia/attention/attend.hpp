// One tile of keys after its products with the queries: masks, softmax, and the product with V. Four lanes share a
// query.
#pragma once

#include "kernels/common/scores.hpp"
#include "kernels/common/softmax.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"

namespace rapt::nvidia {

// A lane has parts of two queries of each of a wave's tiles: f(tile, half) for each, as in TileLogits.
template <int QueryTiles, class F>
DEVICE void for_queries(F f) {
#pragma unroll
  for (int m = 0; m < QueryTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) f(m, half);
}

// Of the wave's rows, that of the lane's query.
DEVICE int row_in_wave(int m, int half, int lane) { return m * kTile + half * 8 + lane / 4; }

// Probabilities, rounded: neighbouring keys of one query in a register, p[m][n][half] of s[m][n].
template <int QueryTiles, int KeyTiles>
using Probabilities = uint32_t[QueryTiles][KeyTiles][2];

// Turns the products Q K^T of keys from first_key on into probabilities; rescales `o` where the maximum grew.
template <class T, bool General, int QueryTiles, int KeyTiles, int DimTiles>
DEVICE void probabilities(Arguments& a, int pass, const Block& block, const WaveRows& rows, int first_key, int lane,
                          TileC (&s)[QueryTiles][KeyTiles], Softmax<T, General> (&softmax)[QueryTiles][2],
                          TileC (&o)[QueryTiles][DimTiles], Probabilities<QueryTiles, KeyTiles>& p) {
  const float scale = exponent_scale(pass, General ? kLog2e : a.problem.scale_log2);
  if (General || first_key < rows.keys.full_begin || first_key + KeyTiles * 8 > rows.keys.full_end) {
    for_queries<QueryTiles>([&](int m, int half) {
      const TileLogits<KeyTiles> logits{s[m], half, lane};
      const Query query = rows.query(a, block, row_in_wave(m, half, lane));
      if constexpr (General) transform_logits(a, block, query, first_key, logits);
      else exclude(logits, query.begin - first_key, query.end - first_key);
    });
  }
  float maximum[QueryTiles][2];
  bool outgrown = false;
  for_queries<QueryTiles>([&](int m, int half) {
    const TileLogits<KeyTiles> logits{s[m], half, lane};
    maximum[m][half] = General ? logits.largest() : logits.largest() * scale;
    outgrown |= softmax[m][half].outgrown(maximum[m][half]);
  });
  if (any_lane(outgrown)) {
    for_queries<QueryTiles>([&](int m, int half) {
      const float factor = softmax[m][half].raise_reference(maximum[m][half], General ? scale : 1);
#pragma unroll
      for (int d = 0; d < DimTiles; ++d) {
        o[m][d][2 * half] *= factor;
        o[m][d][2 * half + 1] *= factor;
      }
    });
  }
  for_queries<QueryTiles>([&](int m, int half) {
    const TileLogits<KeyTiles> logits{s[m], half, lane};
    const float reference = softmax[m][half].reference;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < logits.count; ++i) {
      const float x = logits.get(i);
      const float weight = exp2(General ? (x - reference) * scale : __builtin_fmaf(x, scale, -reference));
      logits.set(i, weight);
      sum += weight;
    }
    softmax[m][half].add(sum);
    if (General && pass < kAbove && a.problem.keep_threshold < 65536)
      drop(a, block, rows.query(a, block, row_in_wave(m, half, lane)), first_key, logits);
#pragma unroll
    for (int n = 0; n < KeyTiles; ++n) p[m][n][half] = T::pack(logits.get(2 * n), logits.get(2 * n + 1));
  });
}

// S = Q K^T. `q_of(m, dim)` is operand A of tile m.
template <class T, int QueryTiles, int KeyTiles, class Q, class K>
DEVICE void multiply_keys(const Q& q_of, const K& k, TileC (&s)[QueryTiles][KeyTiles]) {
  constexpr int dims = K::kRowBytes / 2;
#pragma unroll
  for (int m = 0; m < QueryTiles; ++m)
#pragma unroll
    for (int n = 0; n < KeyTiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[m][n][i] = 0;
#pragma unroll
  for (int dim = 0; dim < dims; dim += kTile) {
    Fragment q[QueryTiles];
#pragma unroll
    for (int m = 0; m < QueryTiles; ++m) q[m] = q_of(m, dim);
#pragma unroll
    for (int n = 0; n < KeyTiles; n += 2) {
      const Fragment keys = k.operands_b(n * 8, dim);
#pragma unroll
      for (int m = 0; m < QueryTiles; ++m) {
        multiply(s[m][n], q[m], keys.x[0], keys.x[1], T());
        multiply(s[m][n + 1], q[m], keys.x[2], keys.x[3], T());
      }
    }
  }
}

// O += P V
template <class T, int QueryTiles, int KeyTiles, int DimTiles, class V>
DEVICE void multiply_values(const Probabilities<QueryTiles, KeyTiles>& p, const V& v,
                            TileC (&o)[QueryTiles][DimTiles]) {
#pragma unroll
  for (int n = 0; n < KeyTiles; n += 2) {
    Fragment weights[QueryTiles];
#pragma unroll
    for (int m = 0; m < QueryTiles; ++m) weights[m] = {{p[m][n][0], p[m][n][1], p[m][n + 1][0], p[m][n + 1][1]}};
#pragma unroll
    for (int d = 0; d < DimTiles; d += 2) {
      const Fragment values = v.operands_b_transposed(n * 8, d * 8);
#pragma unroll
      for (int m = 0; m < QueryTiles; ++m) {
        multiply(o[m][d], weights[m], values.x[0], values.x[1], T());
        multiply(o[m][d + 1], weights[m], values.x[2], values.x[3], T());
      }
    }
  }
}

}  // namespace rapt::nvidia
