// What a lane of backward_fused keeps of K, as operand B of dQ = dS K: one dimension of the workgroup's keys, a tile of
// them for each wave. Waves that have the same 32 dimensions share the keys. Inf and NaN count as 0: rows that attend
// such a key have NaN in dS, and the others' dS, which is 0, times Inf would be NaN.
#pragma once

#include "kernels/cdna/tile/both_ways.hpp"

namespace rapt::amd {

template <class T, int HeadDim, int Waves, class Part, int Parts>
DEVICE void load_columns(const char* rows, int64_t seq, int dims, const Keys& keys, char* lds, Part (&columns)[Parts]) {
  using M = Matrix<T>;
  constexpr int kDimTiles = HeadDim / kTile;
  const int thread = opaque_thread_id(), wave = uniform(thread / kWave);
  BothWays<T, HeadDim, Waves> tiles(rows, seq, dims, keys, lds, thread, 0, kAll);
  tiles.load(0);
  tiles.load(1);
#pragma unroll
  for (int pair = 0; pair < Waves; pair += 2) {
    tiles.store_columns(0, 0);
    tiles.store_columns(1, 1);
    if (!tiles.vectors()) {
      barrier();
      tiles.copy_columns(0, 2);
      tiles.copy_columns(1, 1);
    }
    if (pair + 2 < Waves) tiles.load(0), tiles.load(1);
    barrier();
    const bool own = kDimTiles == Waves || wave / kDimTiles * 2 == pair;
#pragma unroll
    for (int n = 0; n < 2 * kParts<T>; ++n) {
      const typename M::A fragment = finite<T>(tiles.column_fragment(n / kParts<T>, wave % kDimTiles, n % kParts<T>));
      const int to = ((kDimTiles == Waves ? pair * kParts<T> : 0) + n) * M::parts;
#pragma unroll
      for (int part = 0; part < M::parts; ++part) {
        if (own) columns[to + part] = M::part(fragment, part);
        in_accumulators(columns[to + part]);
      }
    }
    barrier();
  }
}

}  // namespace rapt::amd
