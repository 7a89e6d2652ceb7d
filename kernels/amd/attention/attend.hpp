// One tile of keys after its products with the queries: masks, softmax, and the product with V. A lane owns one query.
#pragma once

#include "kernels/amd/tile/huge_logits.hpp"
#include "kernels/amd/tile/logits.hpp"
#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/amd/tile/raised.hpp"
#include "kernels/amd/tile/wave_part.hpp"
#include "kernels/common/sink.hpp"

namespace rapt::amd {

template <int Tiles>
DEVICE float largest(const Tile (&s)[Tiles]) {
  float maximum = s[0][0];
#pragma unroll
  for (int t = 0; t < Tiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) maximum = max(maximum, s[t][r]);
  return maximum;
}

// Turns the products Q K^T of keys from first_key on into probabilities; rescales `o` where the maximum grew.
template <class T, bool General, int KeyTiles, int DimTiles>
DEVICE void probabilities(Arguments& arguments, int pass, const Block& block, const WaveRows& rows, int first_key,
                          int half, Tile (&s)[KeyTiles], Softmax<T, General>& softmax, Tile (&o)[DimTiles]) {
  using M = Matrix<T>;
  const float own_scale = exponent_scale(pass, General ? kLog2e : arguments.problem.scale_log2);
  const float scale = General || pass == kAll ? own_scale : 1;
  if constexpr (General) {
    Arguments& a = opaque_copy(arguments);
    const Query query = rows.query(a.problem, block, opaque_thread_id() % kTile);
#pragma unroll
    for (int t = 0; t < KeyTiles; ++t)
      transform_logits(a.problem, block, query, first_key + t * kTileRows, TileLogits<M>{s[t], half});
  } else if (first_key < rows.keys.full_begin || first_key + KeyTiles * kTileRows > rows.keys.full_end) {
    Arguments& a = opaque_copy(arguments);
    const Query query = rows.query(a.problem, block, opaque_thread_id() % kTile);
    if (pass != kAll) scale_first(own_scale, s);
#pragma unroll
    for (int t = 0; t < KeyTiles; ++t)
      exclude(TileLogits<M>{s[t], half}, query.begin - first_key - t * kTileRows,
              query.end - first_key - t * kTileRows);
  }

  const float maximum = General ? largest(s) : largest(s) * scale;
  if (any_lane(softmax.outgrown(maximum))) {
    const float factor = softmax.raise_reference(maximum, General ? scale : 1);
#pragma unroll
    for (int t = 0; t < DimTiles; ++t) o[t] *= factor;
  }
  f32x2 sum = {};
#pragma unroll
  for (int t = 0; t < KeyTiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; r += 2) {
      const f32x2 logits = {s[t][r], s[t][r + 1]}, reference = f32x2(softmax.reference);
      const f32x2 x =
          General ? (logits - reference) * scale : __builtin_elementwise_fma(logits, f32x2(scale), -reference);
      s[t][r] = exp2(x[0]);
      s[t][r + 1] = exp2(x[1]);
      sum += f32x2{s[t][r], s[t][r + 1]};
    }
  softmax.add(sum[0] + sum[1]);
  if (General && drops(pass) && opaque_copy(arguments).problem.keep_threshold < 65536) {
    Arguments& a = opaque_copy(arguments);
    const Query query = rows.query(a.problem, block, opaque_thread_id() % kTile);
#pragma unroll
    for (int t = 0; t < KeyTiles; ++t)
      drop(a.problem, block, query, first_key + t * kTileRows, TileLogits<M>{s[t], half}, pass == kDropped);
  }
}

// O^T += V^T P^T, for dimensions from first_dim on.
template <class T, int KeyTiles, int DimTiles, class Values>
DEVICE void accumulate(const Tile (&p)[KeyTiles], int lane, const Values& v, int first_dim, Tile (&o)[DimTiles]) {
  using M = Matrix<T>;
  constexpr int parts = KeyTiles * kParts<T>;
#pragma unroll
  for (int i = 0; i < parts; ++i) {
    const typename M::B operand = M::operand(p[i / kParts<T>], i % kParts<T>);
#pragma unroll
    for (int d = 0; d < DimTiles; ++d) o[d] = M::multiply(v.fragment(first_dim + d * kTile, i, lane), operand, o[d]);
  }
}

// Stores a pass's result. The row numbers are computed again: keeping them through the loop would raise SGPR pressure.
// Returns true if the row has an Inf or NaN that may come from a key it does not attend.
template <class T, bool General, int Slices, int Rows, int DimTiles>
DEVICE bool store(Arguments& a, int pass, Softmax<T, General>& softmax, const Tile (&o)[DimTiles]) {
  const Block block = block_of(a.problem, a.q_tiles, Rows);
  const auto part = WavePart<Slices, DimTiles * kTileRows>::of(opaque_thread_id());
  const int row = block.first_row + part.first_row + part.lane % kTile, dims = a.problem.head_dim_v - part.slice;
  if (row >= block.q.count) return false;
  const bool again = not_finite(softmax, o) || (!General && huge(softmax.reference));
  char* const head = first_row_of(a.out, block.batch, block.q, block.head);
  char* const out = head + row * a.out.seq + part.slice * static_cast<int>(sizeof(typename T::element));
  if (pass >= kAbove) {
    add_where_weighted<T>(out, dims, part.lane, added(pass), o);
    return false;
  }
  const Sink sink = Sink::of<General>(a.problem, block);
  const float factor = softmax.finish(sink.logit) * (General ? a.problem.keep_scale : 1);
  store_result<T>(out, dims, aligned(head, a.out.seq), part.lane, factor, o);
  if (part.slice == 0 && part.lane < kTile) store_lse(a, block, row, sink.lse(softmax.lse()));
  return again;
}

}  // namespace rapt::amd
