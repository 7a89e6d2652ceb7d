// The backward pass of logits where a lane owns one key, and the elements of its tile are of one query each.
#pragma once

#include "kernels/amd/tile/logits.hpp"
#include "kernels/common/runs.hpp"
#include "kernels/common/score_gradients.hpp"

namespace rapt::amd {

// Of a step's rows, from `first` on; of rows that do not exist those of rows that attend nothing.
template <class T, int Queries>
DEVICE void stage_statistics(BackwardArguments& a, const Block& block, int first, int run,
                             rapt_abi_row_statistics* staged) {
  const int thread = opaque_thread_id(), row = first + thread;
  if (thread >= Queries) return;
  rapt_abi_row_statistics s = {__builtin_inff(), 0};
  if (row < block.q.count) s = statistics_of(a, block.batch, block.q, block.head)[row];
  s.lse += added_to_lse<T>(run);
  staged[thread] = s;
}

// S becomes P, dP becomes dS (score_gradients.hpp), for the queries from first_row on.
template <bool General, class M, int Tiles>
DEVICE void key_score_gradients(BackwardArguments& a, const Block& block, int first_key, int first_row, int lane,
                                bool masked, const rapt_abi_row_statistics* statistics, Tile (&s)[Tiles],
                                Tile (&ds)[Tiles]) {
#pragma unroll
  for (int t = 0; t < Tiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) {
      // The options of 16 queries are too many for the registers: each reads its own again, one after another.
      BackwardArguments& again = General ? opaque_copy(a) : a;
      const int lane_again = General ? opaque_thread_id() % kWave : lane;
      const int row = t * kTile + M::element(r, lane_again / kTile);
      float logit = s[t][r], gradient = ds[t][r];
      score_gradients<General>(
          again.problem, block, first_key, masked, [&] { return query_of(again.problem, block, first_row + row); },
          statistics[row], KeyLogit{logit, lane_again}, KeyLogit{gradient, lane_again});
      if constexpr (General) in_turn(logit, gradient);
      s[t][r] = logit;
      ds[t][r] = gradient;
    }
}

}  // namespace rapt::amd
