// Writes the statistics of rows that backward_hopper reads, and zeros in its counters and in gradients of rows that
// belong to no sequence. delta is the diagonal of dO O^T.
//
// A workgroup for each multiprocessor computes tiles of 64 rows, one after another. One thread copies rows of O and dO,
// and two groups of four warps multiply, each every second tile.
#include "kernels/hopper/attention/padded_rows.hpp"
#include "kernels/hopper/attention/row_statistics.hpp"
#include "kernels/hopper/attention/unused_rows.hpp"
#include "kernels/hopper/tile/diagonal.hpp"
#include "kernels/hopper/tile/ring.hpp"
#include "kernels/nvidia/tile/products.hpp"

namespace rapt::nvidia {

using T = RAPT_DTYPE;
inline constexpr int kColumns = 64, kPanels = RAPT_HEAD_DIM / kColumns, kThreads = RAPT_WAVES * kWave;
inline constexpr int kGroups = RAPT_WAVES / 4 - 1;
using Rows = Panels<kGroupRows, kColumns>;
using Filled = Ring<4>;

// Shared memory. A stage has panels of O, then of dO.
struct Shared {
  static constexpr int kStageBytes = 2 * kPanels * Rows::kBytes, kStages = Filled::kBytes / (2 * Barrier::kBytes);
  static constexpr int kBarriers = kStages * kStageBytes;
  static constexpr int kBytes = kBarriers + Filled::kBytes;
  uint32_t address;

  DEVICE_MEMBER Filled ring() const { return {address + kBarriers}; }
  DEVICE_MEMBER Rows out(uint32_t n, int panel) const {
    return {address + Filled::stage(n) * kStageBytes + static_cast<uint32_t>(panel * Rows::kBytes)};
  }
  DEVICE_MEMBER Rows dout(uint32_t n, int panel) const { return out(n, kPanels + panel); }
};
static_assert(RAPT_SHARED_BYTES == Shared::kBytes, "shared= of the row");

using Args = const rapt_hopper_backward_args;

// f(number, block) for each tile of the workgroup. The first heads come last: backward_hopper then finds their dO in
// L2.
template <class F>
DEVICE void for_tiles(Args& a, const F& f) {
  Problem& p = a.backward.problem;
  const int tiles = PaddedRows::blocks(p.seqlen_q), all = tiles * p.heads_q * p.batch;
  uint32_t n = 0;
#pragma unroll 1
  for (int i = all - 1 - workgroup_id(); i >= 0; i -= static_cast<int>(gridDim.x)) {
    const int head = i / tiles;
    const Block block = block_at(p, {0, head % p.heads_q, head / p.heads_q}, i % tiles * kGroupRows);
    if (block.first_row < PaddedRows::blocks(block.q.count) * kGroupRows) f(n++, block);
  }
}

DEVICE int panels_of(Args& a) { return (a.backward.problem.head_dim_v + kColumns - 1) / kColumns; }

DEVICE void copy_rows(Args& a, const Shared& shared) {
  const Filled ring = shared.ring();
  const bool packed = PaddedRows(a.backward).packed();
  for_tiles(a, [&](uint32_t n, const Block& block) {
    const int row = block.q.first + block.first_row, batch = packed ? 0 : block.batch;
    ring.wait_until_empty(n);
    const Barrier arrival = ring.full(n);
    const int panels = panels_of(a);
    arrival.arrive_expecting(2 * panels * Rows::kBytes);
#pragma unroll 1
    for (int i = 0; i < panels; ++i) {
      copy_box(shared.out(n, i).address, a.out, arrival, {i * kColumns, row, block.head, batch});
      copy_box(shared.dout(n, i).address, a.dout_rows, arrival, {i * kColumns, row, block.head, batch});
    }
  });
}

// The products of rows of O and dO: the lane receives the two of its own rows.
DEVICE void multiply_own(Args& a, const Shared& shared, uint32_t n, float (&own)[2]) {
  Accumulators<kGroupRows / 8> c;
  products_begin();
#pragma unroll 1
  for (int panel = 0; panel < panels_of(a); ++panel) {
    // The same in all lanes: the compiler then computes descriptors once for a warp.
    const Rows out = {__shfl_sync(~0u, shared.out(n, panel).address, 0)};
    const Rows dout = {out.address + kPanels * Rows::kBytes};
#pragma unroll
    for (int i = 0; i < kColumns / Rows::kStepColumns; ++i)
      multiply_rows(c, out.rows(0) + Rows::along_columns(i), dout.rows(0) + Rows::along_columns(i), panel + i > 0, T());
  }
  products_end();
  wait_for_products<0>();
  keep(c);
  diagonal_of(c, own);
}

DEVICE void make_statistics(Args& arguments, const Shared& shared, uint32_t group) {
  const rapt_backward_args& a = arguments.backward;
  const int lane = thread_id() % kWave, half = lane % 4;
  const PaddedRows padded(a);
  for_tiles(arguments, [&](uint32_t n, const Block& block) {
    if (n % kGroups != group) return;
    const int row = block.first_row + thread_id() / kWave % 4 * kWarpRows + row_in_wave(0, half, lane);
    const float lse = half < 2 ? lse_of(a, block, row) : 0;
    float own[2];
    shared.ring().wait_until_full(n);
    multiply_own(arguments, shared, n, own);
    shared.ring().give_back(n, thread_id() % kGroupThreads == 0);
    if (half > 1) return;
    const rapt_abi_row_statistics statistics = statistics_from(lse, half == 0 ? own[0] : own[1], lse_unit(a));
    *padded.statistics(block, block.head, row) = statistics;
    if (padded.packed() && row < block.q.count) statistics_of(a, block.batch, block.q, block.head)[row] = statistics;
  });
}

// By two warps of each workgroup.
DEVICE void clear_gradients(Args& a) {
  const rapt_backward_args& all = a.backward;
  Problem& p = all.problem;
  constexpr int kClearing = 2 * kWave;
  const int thread = workgroup_id() * kClearing + thread_id() % kClearing;
  const int threads = static_cast<int>(gridDim.x) * kClearing;
  clear_unused_rows(all.dq, p.cu_seqlens_q, p.batch, p.total_q, p.heads_q, p.head_dim, thread, threads);
  clear_unused_rows(all.dk, p.cu_seqlens_k, p.batch, p.total_k, p.heads_k, p.head_dim, thread, threads);
  clear_unused_rows(all.dv, p.cu_seqlens_k, p.batch, p.total_k, p.heads_k, p.head_dim_v, thread, threads);
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, 1)
RAPT_SYMBOL(const __grid_constant__ rapt_hopper_backward_args arguments) {
  using namespace rapt::nvidia;
  extern __shared__ __align__(1024) char memory[];
  const Shared shared = {shared_address(memory)};
  if (thread_id() == 0) {
    shared.ring().init(1);
    publish_barriers();
  }
  for (int i = workgroup_id() * kThreads + thread_id(); i < arguments.count;
       i += static_cast<int>(gridDim.x) * kThreads)
    arguments.counters[i] = 0;
  barrier();
  const int group = __shfl_sync(~0u, thread_id() / kGroupThreads, 0) - 1;
  if (group >= 0) make_statistics(arguments, shared, static_cast<uint32_t>(group));
  else if (thread_id() == 0) copy_rows(arguments, shared);
  else if (thread_id() >= 2 * kWave) clear_gradients(arguments);
}
