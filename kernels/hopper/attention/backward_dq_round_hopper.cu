// dq from what backward_hopper added up: a warp has 16 rows. Gradients with Inf or NaN are computed again here: there
// are none as a rule, and the code would take registers from backward_hopper. It serves problems with and without
// options.
#include "kernels/hopper/attention/backward_again.hpp"
#include "kernels/hopper/attention/padded_rows.hpp"
#include "kernels/hopper/tile/fragments.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kColumns = 64, kRows = RAPT_WAVES * kTile;
static_assert(kRows == kGroupRows, "a block of sums");

// Returns whether the warp must compute its rows again.
DEVICE bool round_rows(const rapt_hopper_backward_args& arguments, const Block& block, int first_row) {
  BackwardArguments& a = arguments.backward;
  const int lane = thread_id() % kWave, dims = a.problem.head_dim;
  const PaddedRows padded(a);
  const float* const sums = padded.sums(block, block.head, block.first_row);
  // Else no tile of keys attends the rows.
  const bool has_sums = arguments.added[padded.index(block, block.head, block.first_row) / (kRows / 2)] != 0;
  char* const dq = first_row_of(a.dq, block.batch, block.q, block.head);
  const rapt_abi_row_statistics* const statistics = statistics_of(a, block.batch, block.q, block.head);
  bool again = false;
#pragma unroll 1
  for (int dim = 0; dim < dims; dim += kColumns) {
    const auto* const own = reinterpret_cast<const float4*>(sums + dim * kRows) + thread_id();
    Accumulators<kColumns / 8> x;
#pragma unroll
    for (int i = 0; i < kColumns / 8; ++i) {
      const float4 four = has_sums ? own[i * kGroupThreads] : float4{};
      x[i][0] = four.x, x[i][1] = four.y, x[i][2] = four.z, x[i][3] = four.w;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + row_in_wave(0, half, lane);
      const bool exists = row < block.q.count;
      if (exists && not_finite(x, half)) again |= statistics[row].lse == statistics[row].lse;
      store_row<T>(dq + row * a.dq.seq + dim * static_cast<int>(sizeof(T::element)), dims - dim, x, half, lane,
                   a.problem.scale, exists);
    }
  }
  return any_lane(again);
}

}  // namespace rapt::nvidia

KERNEL(RAPT_WAVES* rapt::nvidia::kWave, RAPT_WAVES_PER_EU * 4 / RAPT_WAVES)
RAPT_SYMBOL(const __grid_constant__ rapt_hopper_backward_args arguments) {
  using namespace rapt::nvidia;
  const rapt_backward_args& a = arguments.backward;
  // The last heads come first: their sums may still be in L2.
  const int i = static_cast<int>(gridDim.x) - 1 - workgroup_id(), head = i / a.tiles, heads = a.problem.heads_q;
  const Block block = block_at(a.problem, {0, head % heads, head / heads}, i % a.tiles * kRows);
  const int first_row = block.first_row + thread_id() / kWave * kTile, lane = thread_id() % kWave;
  if (a.dq.data != nullptr && block.first_row < block.q.count && round_rows(arguments, block, first_row)) {
    wave_barrier();  // the lanes have stored their parts of the rows
    run_again<T, run_rows<T, true>>(a, block, first_row, lane);
  }
  if (arguments.counters[1] != 0) run_keys_again<T, RAPT_WAVES>(a);
}
