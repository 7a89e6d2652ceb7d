// One tile of keys after its products with the queries: masks, options and softmax. Four lanes share a query.
#pragma once

#include "kernels/common/huge.hpp"
#include "kernels/common/scores.hpp"
#include "kernels/common/softmax.hpp"
#include "kernels/nvidia/tile/logits.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"
#include "kernels/nvidia/tile/products.hpp"

namespace rapt::nvidia {

// A row of the result: a query of the head that `block` names.
struct ResultRow {
  Block block;
  Query query;
};

// Turns the products Q K^T of keys from first_key on into probabilities; rescales `o` where the maximum grew.
// `partial`: some row does not attend some key. row_of(i) is the wave's row i, a ResultRow. `Group` is as in
// TileLogits. Unless `Lazy`, every larger logit raises its row's reference (softmax.hpp).
template <class T, bool General, int Group, bool Lazy = true, class RowOf, int QueryTiles, int KeyTiles, int DimTiles>
DEVICE void probabilities(Problem& problem, int pass, bool partial, const RowOf& row_of, int first_key, int lane,
                          TileC (&s)[QueryTiles][KeyTiles], Softmax<T, General> (&softmax)[QueryTiles][2],
                          TileC (&o)[QueryTiles][DimTiles], Rounded<T, QueryTiles, KeyTiles>& p) {
  using Logits = TileLogits<KeyTiles, Group>;
  const bool scale_first = !General && pass != kAll;  // huge.hpp
  const float own_scale = exponent_scale(pass, General ? kLog2e : problem.scale_log2),
              scale = scale_first ? 1 : own_scale;
  if (General || partial || scale_first) {
    for_rows<QueryTiles>([&](int m, int half) {
      const Logits logits{s[m], half, lane};
      const ResultRow row = row_of(row_in_wave(m, half, lane));
      if (scale_first) logits.scale(own_scale);
      if constexpr (General) transform_logits(problem, row.block, row.query, first_key, logits);
      else exclude(logits, row.query.begin - first_key, row.query.end - first_key);
    });
  }
  float maximum[QueryTiles][2];
  bool outgrown = false;
  for_rows<QueryTiles>([&](int m, int half) {
    const Logits logits{s[m], half, lane};
    maximum[m][half] = General ? logits.largest() : logits.largest() * scale;
    const Softmax<T, General>& own = softmax[m][half];
    outgrown |= Lazy ? own.outgrown(maximum[m][half])
                     : maximum[m][half] > own.reference + T::p_exponent * Softmax<T, General>::kOctave;
  });
  if (any_lane(outgrown)) {
    for_rows<QueryTiles>([&](int m, int half) {
      const float factor = softmax[m][half].raise_reference(maximum[m][half], General ? scale : 1);
#pragma unroll
      for (int d = 0; d < DimTiles; ++d) {
        o[m][d][2 * half] *= factor;
        o[m][d][2 * half + 1] *= factor;
      }
    });
  }
  for_rows<QueryTiles>([&](int m, int half) {
    const Logits logits{s[m], half, lane};
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
    if (General && drops(pass) && problem.keep_threshold < 65536) {
      const ResultRow row = row_of(row_in_wave(m, half, lane));
      drop(problem, row.block, row.query, first_key, logits, pass == kDropped);
    }
#pragma unroll
    for (int n = 0; n < KeyTiles; ++n) p[m][n][half] = T::pack(logits.get(2 * n), logits.get(2 * n + 1));
  });
}

}  // namespace rapt::nvidia
