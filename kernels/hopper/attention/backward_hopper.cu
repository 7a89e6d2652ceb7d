// Backward attention with wgmma and TMA: Hopper only. Five products: S^T = K Q^T, dP^T = V dO^T, dV += P^T dO,
// dK += dS^T Q, and dQ = dS K. dQ is added to float32 sums in memory, in any order or, if it is asked for, a fixed one.
//
// A workgroup stays on its multiprocessor and computes tiles of keys (key_tiles.hpp) in steps of queries. Two groups of
// four warps have 64 keys each, and keep dK and dV in registers. Four more warps have one thread that copies, and one
// for each group that adds its dQ to memory. The groups exchange dS through shared memory. A group makes dQ of half of
// the step: of 64 queries if the head dim is 64, else of half of the dims.
//
// S of the next step is started before dV and dK of this one, so that its exponentials run beside these.
#include "kernels/hopper/attention/backward_copies.hpp"
#include "kernels/hopper/attention/backward_dropout.hpp"
#include "kernels/hopper/isa/registers.hpp"
#include "kernels/nvidia/tile/products.hpp"

namespace rapt::nvidia {

// A group's 64 keys of each tile.
class Group {
 public:
  DEVICE_MEMBER Group(AllArgs& a, const Shared& shared, int group)
      : a_(a.all), options_(a.scores), shared_(shared), group_(group) {}

  DEVICE_MEMBER void run() {
#pragma unroll 1
    for (; begin_tile(); ++tile_) {
      Gradients dk, dv;
      Scores s;
      clear(dk);
      clear(dv);
      shared_.q_ring().wait_until_full(fill_);
      products_begin();
      multiply_q(s, fill_);
      wait_for_products<0>();
      keep(s);
      weigh(s, fill_);
      shared_.v_ring().wait_until_full(tile_);
#pragma unroll 1
      for (; left_ > 1; --left_) step<false>(s, dk, dv);
      step<true>(s, dk, dv);
      shared_.k_ring().give_back(tile_, leads());
      store(dk, dv);
    }
  }

 private:
  static constexpr int kOperands = kQueryTiles / 2;

  DEVICE int lane() { return thread_id() % kWave; }
  DEVICE bool leads() { return thread_id() % kGroupThreads == 0; }
  // The first of the warp's keys, within a tile.
  DEVICE_MEMBER int warp_key() const { return group_ * kGroupRows + thread_id() / kWave % 4 * kWarpRows; }
  // Tells the compiler that lanes have the same number: it then computes with it once for a warp.
  DEVICE int same_in_all_lanes(int x) { return __shfl_sync(~0u, x, 0); }

  // False if there is no other tile.
  DEVICE_MEMBER bool begin_tile() {
    shared_.k_ring().wait_until_full(tile_);
    const KeyTile& tile = shared_.tile(tile_);
    left_ = same_in_all_lanes(tile.steps) * a_.backward.problem.group;
    if constexpr (!kScores) {
      step_ = own_.begin_step = same_in_all_lanes(tile.begin_step);
      own_.end_step = same_in_all_lanes(tile.end_step);
      own_.stride = same_in_all_lanes(tile.stride);
      own_.block.first_row = same_in_all_lanes(tile.block.first_row);
      own_.full_begin = same_in_all_lanes(tile.full_begin);
      own_.full_end = same_in_all_lanes(tile.full_end);
    }
    return left_ > 0;
  }
  // What each step reads of the tile: its keys, its steps, and which queries attend all of its keys. Options leave no
  // registers for it.
  DEVICE_MEMBER const KeyTile& tile() const {
    if constexpr (kScores) return shared_.tile(tile_);
    else return own_;
  }

  DEVICE_MEMBER int first_row_of_step(uint32_t fill) const {
    if constexpr (kScores) return shared_.step(fill).first_row;
    else return step_ * kQueries;
  }

  // S^T of the fill's queries, or dP^T.
  DEVICE_MEMBER void multiply_q(Scores& s, uint32_t fill) const {
    multiply_rows_of(s, shared_.k(tile_), shared_.q(0).rows(0) + RingQ::stage(fill) * PanelsQ::kBytes);
  }
  DEVICE_MEMBER void multiply_dout(Scores& dp) const {
    multiply_rows_of(dp, shared_.v(), shared_.dout(0).rows(0) + RingQ::stage(fill_) * PanelsQ::kBytes);
  }
  DEVICE_MEMBER void multiply_rows_of(Scores& s, const PanelsK& keys, const MatrixDescriptor& queries) const {
    const MatrixDescriptor own = keys.rows(group_ * kGroupRows);
#pragma unroll
    for (int i = 0; i < kHeadDim / PanelsK::kStepColumns; ++i)
      multiply_rows(s, own + PanelsK::along_columns(i), queries + PanelsQ::along_columns(i), i > 0, T());
    products_end();
  }

  // One step of queries. `s` has its P^T, and then the next step's, unless it is the last one.
  template <bool Last>
  DEVICE_MEMBER void step(Scores& s, Gradients& dk, Gradients& dv) {
    Fragment p[kOperands], ds[kOperands];
    {
      const Kept kept = find_kept();
      Scores dp;
      shared_.dout_ring().wait_until_full(fill_);
      products_begin();
      multiply_dout(dp);
      shared_.ds_ring().wait_until_empty(fill_);
      wait_for_products<0>();
      keep(dp);
      if (Last) shared_.v_ring().give_back(tile_, leads());
      differentiate(s, dp, kept, p, ds);
    }
    publish_shared();
    wave_barrier();
    if (lane() == 0) shared_.ds_ring().full(fill_).arrive();
    if (!Last) shared_.q_ring().wait_until_full(fill_ + 1);
    keep(dv);
    keep(dk);
    products_begin();
    if (!Last) multiply_q(s, fill_ + 1);
    add_products(p, ds, dk, dv);
    if (!kScores) step_ = own_.after(step_);
    if (!Last) {
      wait_for_products<1>();
      keep(s);
      weigh(s, fill_ + 1);
    }
    wait_for_ds(Last ? 0 : zero_from(s));
    wait_for_products<0>();
    keep(dv);
    keep(dk);
    shared_.dout_ring().give_back(fill_, leads());
    shared_.q_ring().give_back(fill_, leads());
    store_sums();
    ++fill_;
  }
  DEVICE_MEMBER void add_products(const Fragment (&p)[kOperands], const Fragment (&ds)[kOperands], Gradients& dk,
                                  Gradients& dv) const {
    const int stage = RingQ::stage(fill_) * PanelsQ::kBytes;
    const MatrixDescriptor dout = shared_.dout(0).transposed() + stage, q = shared_.q(0).transposed() + stage;
#pragma unroll
    for (int i = 0; i < kOperands; ++i) multiply_fragment(dv, p[i], dout + PanelsQ::along_rows(i), T());
#pragma unroll
    for (int i = 0; i < kOperands; ++i) multiply_fragment(dk, ds[i], q + PanelsQ::along_rows(i), T());
    products_end();
  }

  // P^T of S^T of the next step.
  DEVICE_MEMBER void weigh(Scores& s, uint32_t fill) const {
    Problem& p = a_.backward.problem;
    const float4* const pairs = pairs_of(fill);
    const int first_row = first_row_of_step(fill);
    Units units = {p.scale, p.scale_log2};
    if constexpr (kScores) units = change_scores(s, fill, first_row);
    if (rarely(first_row < tile().full_begin || first_row + kQueries > tile().full_end)) exclude_queries(s, first_row);
    weigh_scores(s, units, kScores && natural_units(a_.backward), [&](int i) {
      const float4 pair = pairs[4 * i];
      return make_float4(pair.x, pair.z, pair.x, pair.z);
    });
    keep(s);
  }
  // The elements of the step's P^T that dropout keeps.
  DEVICE_MEMBER Kept find_kept() const {
    Problem& p = a_.backward.problem;
    if (!kScores || !rarely(has_dropout(p))) return {};
    if constexpr (kDropsApart) {
      const RingKept ring = shared_.kept_ring();
      ring.wait_until_full(fill_);
      const Kept kept = shared_.kept(fill_, group_ * kGroupThreads + thread_id() % kGroupThreads);
      wave_barrier();  // all lanes have read
      ring.give_back(fill_, lane() == 0);
      return kept;
    }
    const int first_key = tile().block.first_row + warp_key();
    return kept_of_columns<kQueryTiles>(shared_.dropout(), p.keep_threshold, shared_.step(fill_).head,
                                        first_row_of_step(fill_), first_key, lane());
  }
  DEVICE_MEMBER Units change_scores(Scores& s, uint32_t fill, int first_row) const {
    Problem& p = a_.backward.problem;
    const auto slope = [&] {
      const Block& keys = shared_.tile(tile_).block;
      const int key = keys.first_row + warp_key() + lane() / 4, query = first_row + 2 * (lane() % 4);
      return SlopeOfHead{shared_.step(fill).slope, key - query - keys.diagonal};
    };
    const auto read = [&](const auto& apply) {
      shared_.score_ring().wait_until_full(fill);
      apply(shared_.scores(fill).bias(group_), shared_.scores(fill).mask(0));
      wave_barrier();  // all lanes have read
      shared_.score_ring().give_back(fill, lane() == 0);
    };
    // Slopes wait where dS will be: registers are few.
    const auto keep_tanh = [&](float factor) {
      const auto tanh = [&](int tile, int e) { return s[tile][e] * factor; };
      shared_.ds_ring().wait_until_empty(fill);
#pragma unroll
      for (int i = 0; i < kOperands; ++i) {
        Fragment pairs;
#pragma unroll
        for (int x = 0; x < 4; ++x)
          pairs.x[x] = encoded_slopes(tanh(2 * i + x / 2, x % 2 * 2), tanh(2 * i + x / 2, x % 2 * 2 + 1));
        shared_.ds(RingQ::stage(fill)).store(warp_key(), i, pairs, lane());
      }
      wave_barrier();  // all lanes have stored
    };
    return apply_options<T>(scores_of_keys(s), keep_tanh, p, options_, slope, read);
  }
  DEVICE_MEMBER void exclude_queries(Scores& s, int first_row) const {
    const Block& keys = shared_.tile(tile_).block;
    scores_of_keys(s).exclude(a_.backward.problem, keys, keys.first_row + warp_key(), first_row);
  }
  DEVICE_MEMBER ScoresOfKeys<kQueryTiles> scores_of_keys(Scores& s) const {
    return {s, warp_key() % kGroupRows, warp_key(), lane()};
  }
  // The statistics of the lane's columns: lse and delta of a query and of the next one.
  DEVICE_MEMBER const float4* pairs_of(uint32_t fill) const {
    return reinterpret_cast<const float4*>(shared_.statistics(RingQ::stage(fill))) + lane() % 4;
  }

  // From P^T and dP^T to rounded P^T and dS^T, which is stored too.
  DEVICE_MEMBER void differentiate(const Scores& s, const Scores& dp, const Kept& kept, Fragment (&p)[kOperands],
                                   Fragment (&ds)[kOperands]) const {
    Problem& problem = a_.backward.problem;
    const auto with_dropout = [&](int i, int e, float delta, float& weight) {
      // P is scaled before it is rounded: dV is then as exact as by the rule.
      const float factor = kept.of(problem.keep_scale, i, e);
      weight = s[i][e] * factor;
      return s[i][e] * __builtin_fmaf(factor, dp[i][e], -delta);
    };
    const auto without = [&](int i, int e, float delta, float& weight) {
      weight = s[i][e];
      return weight * (dp[i][e] - delta);
    };
    const auto make = [&](const auto& gradient) {
      if (kScores && problem.softcap > 0) make_operands<true>(gradient, p, ds);
      else make_operands<false>(gradient, p, ds);
    };
    if (kScores && rarely(has_dropout(problem))) make(with_dropout);
    else make(without);
  }
  // `Caps`: times the slopes of softcap, which are where dS is stored.
  template <bool Caps, class Gradient>
  DEVICE_MEMBER void make_operands(const Gradient& gradient, Fragment (&p)[kOperands],
                                   Fragment (&ds)[kOperands]) const {
    const float4* const pairs = pairs_of(fill_);
    const PanelsDs panels = shared_.ds(RingQ::stage(fill_));
    // Read ahead: the compiler moves no load across the stores.
    float4 pair[2] = {pairs[0], pairs[4]};
#pragma unroll
    for (int i = 0; i < kOperands; ++i) {
      float4 next[2] = {};
      if (i + 1 < kOperands) next[0] = pairs[8 * i + 8], next[1] = pairs[8 * i + 12];
      Fragment slopes = {};
      if (Caps) slopes = panels.load(warp_key() + lane() % 16, i, lane());
#pragma unroll
      for (int n = 0; n < 2; ++n)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float weight[2];
          const int tile = 2 * i + n, e = 2 * half;
          const float first = gradient(tile, e, pair[n].y, weight[0]),
                      second = gradient(tile, e + 1, pair[n].w, weight[1]);
          const auto times = [&](uint32_t slope) { return Caps ? decoded_slope(static_cast<uint16_t>(slope)) : 1; };
          const uint32_t own = slopes.x[2 * n + half];
          ds[i].x[2 * n + half] = T::pack(first * times(own), second * times(own >> 16));
          p[i].x[2 * n + half] = T::pack(weight[0], weight[1]);
        }
      panels.store(warp_key(), i, ds[i], lane());
      pair[0] = next[0];
      pair[1] = next[1];
    }
  }

  // 0, from signs of exponentials. The compiler cannot move them below what needs it.
  DEVICE uint32_t zero_from(const Scores& s) {
    uint32_t signs = 0;
#pragma unroll
    for (int i = 0; i < kQueryTiles; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) signs |= bits(s[i][e]);
    return signs >> 31;
  }
  // Waits until both groups have stored their dS.
  DEVICE_MEMBER void wait_for_ds(uint32_t zero) const {
    const Barrier full = shared_.ds_ring().full(fill_);
    Barrier{full.address + zero}.wait(RingQ::parity(fill_));
  }

  // The group's part of dQ, on its way to memory.
  DEVICE_MEMBER void store_sums() const {
    Sums dq;
    const MatrixDescriptor ds = shared_.ds(0).transposed() + RingQ::stage(fill_) * PanelsDs::kBytes +
                                (kSplitsDims ? 0 : group_) * PanelsDs::kPanelBytes;
    constexpr int kOwnDims = kHeadDim > PanelsK::kColumns ? PanelsK::kPanelBytes : kSumTiles * 16;
    const MatrixDescriptor k = shared_.k(tile_).transposed() + (kSplitsDims ? group_ : 0) * kOwnDims;
    products_begin();
#pragma unroll
    for (int i = 0; i < kKeys / PanelsK::kStepColumns; ++i)
      multiply_columns(dq, ds + PanelsDs::along_rows(i), k + PanelsK::along_rows(i), i > 0, T());
    products_end();
    wait_for_products<0>();
    keep(dq);
    shared_.ds_ring().give_back(fill_, leads());
    const RingSums ring = shared_.sums_ring(group_);
    ring.wait_until_empty(fill_);
    float4* const to = reinterpret_cast<float4*>(shared_.memory + Shared::kSums + group_ * kSumBytes);
#pragma unroll
    for (int i = 0; i < kSumTiles; ++i)
      to[i * kGroupThreads + thread_id() % kGroupThreads] = make_float4(dq[i][0], dq[i][1], dq[i][2], dq[i][3]);
    publish_shared();
    ring.full(fill_).arrive();
  }

  // Stores dK and dV, while the next tile's K and V arrive.
  DEVICE_MEMBER void store(const Gradients& dk, const Gradients& dv) const {
    const rapt_backward_args& a = a_.backward;
    Problem& p = a.problem;
    note_not_finite(dk, dv);
    const Block& keys = shared_.tile(tile_).block;
    const auto store_all = [&](const rapt_abi_rows& rows, const Gradients& sums, int dims, float factor) {
      if (rows.data == nullptr) return;
      char* const data = first_row_of(rows, keys.batch, keys.k, keys.head);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key = keys.first_row + warp_key() + row_in_wave(0, half, lane());
        store_row<T>(data + key * rows.seq, dims, sums, half, lane(), factor, key < keys.k.count);
      }
    };
    store_all(a.dk, dk, p.head_dim, p.scale);
    store_all(a.dv, dv, p.head_dim_v, 1);
  }
  // Says that dK and dV must be looked at again. Keys that do not exist have zeros.
  DEVICE_MEMBER void note_not_finite(const Gradients& dk, const Gradients& dv) const {
    bool found = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) found |= not_finite(dk, half) || not_finite(dv, half);
    if (rarely(found)) a_.counters[1] = 1;
  }

  Args& a_;
  Options& options_;
  const Shared shared_;
  const int group_;
  KeyTile own_;
  int left_;                      // steps of the tile
  int step_;                      // whose P^T is next, without options
  uint32_t tile_ = 0, fill_ = 0;  // tiles and steps so far
};

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, 1)
RAPT_SYMBOL(const __grid_constant__ rapt_hopper_backward_scores_args arguments) {
  using namespace rapt::nvidia;
  extern __shared__ __align__(1024) char memory[];
  const Shared shared = {memory, shared_address(memory)};
  const int group = __shfl_sync(~0u, thread_id() / kGroupThreads, 0);
  if (thread_id() == 0) {
    shared.init(kDropsApart && has_dropout(arguments.all.backward.problem));
    publish_barriers();
    if constexpr (kScores) shared.dropout() = DropoutSeed::of(arguments.all.backward.problem);
  }
  barrier();
  if (group == 0) {
    give_up_registers<kFeederRegisters>();
    if (thread_id() == 0) Feeder(arguments, shared).run();
    else if (thread_id() % kWave == 0 && thread_id() / kWave <= kGroups)
      Adder(arguments, shared, thread_id() / kWave - 1).run();
  } else if (kDropsApart && group > kGroups) {
    give_up_registers<kFeederRegisters>();
    if (has_dropout(arguments.all.backward.problem)) Dropout(arguments, shared).run();
  } else {
    take_registers<kRegisters>();
    Group(arguments, shared, group - 1).run();
  }
}
