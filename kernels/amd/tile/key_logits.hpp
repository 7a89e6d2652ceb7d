// Logits where a lane owns one key, and each element of its tile is of another query: the backward pass of keys.
#pragma once

#include "kernels/amd/isa/matrix.hpp"
#include "kernels/common/score_gradients.hpp"

namespace rapt::amd {

// One element of such a tile, as kernels/common sees it. It is a copy: the branches of the options would otherwise each
// have the tile's registers.
struct KeyLogit {
  static constexpr int count = 1, group = 1;

  float& s;
  int lane;

  DEVICE_MEMBER float get(int) const { return s; }
  DEVICE_MEMBER void set(int, float x) const { s = x; }
  DEVICE_MEMBER void scale(float factor) const { s *= factor; }
  DEVICE_MEMBER int key(int) const { return lane % kTile; }
  DEVICE_MEMBER int first_key() const { return lane % kTile; }
  DEVICE int step(int) { return 0; }
};

// S becomes P, dP becomes dS (score_gradients.hpp), for the queries from first_row on.
template <bool General, class M, int Tiles>
DEVICE void key_score_gradients(BackwardArguments& a, const Block& block, int first_key, int first_row, int lane,
                                bool masked, bool again, const rapt_abi_row_statistics* statistics, Tile (&s)[Tiles],
                                Tile (&ds)[Tiles]) {
#pragma unroll
  for (int t = 0; t < Tiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) {
      // The options of 16 queries are too many for the registers: each reads its own again, one after another.
      BackwardArguments& same = General ? opaque_copy(a) : a;
      const int lane_again = General ? opaque_thread_id() % kWave : lane;
      const int row = t * kTile + M::element(r, lane_again / kTile);
      float logit = s[t][r], gradient = ds[t][r];
      score_gradients<General>(
          same.problem, block, first_key, masked, again, [&] { return query_of(same.problem, block, first_row + row); },
          statistics[row], KeyLogit{logit, lane_again}, KeyLogit{gradient, lane_again});
      if constexpr (General) in_turn(logit, gradient);
      s[t][r] = logit;
      ds[t][r] = gradient;
    }
}

}  // namespace rapt::amd
