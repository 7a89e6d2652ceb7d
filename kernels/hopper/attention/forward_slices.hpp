// The forward kernel's mode for few keys (slices.hpp): a thread that copies, and groups that compute slices of queries.
#pragma once

#include "kernels/hopper/attention/again.hpp"
#include "kernels/hopper/attention/forward_copies.hpp"
#include "kernels/hopper/attention/forward_rows.hpp"
#include "kernels/hopper/attention/running_softmax.hpp"
#include "kernels/hopper/attention/slices.hpp"
#include "kernels/hopper/isa/registers.hpp"
#include "kernels/nvidia/isa/overlap.hpp"

namespace rapt::nvidia {

// Slices' tiles of `Keys` keys: buffers of Q with what the finding thread says of them, and of tiles of K and V, which
// arrive together.
template <int Keys>
struct SliceTile {
  static constexpr int kHeadDim = RAPT_HEAD_DIM, kKeys = Keys, kWorkRows = kGroupRows, kReaders = kGroups;
  static constexpr bool kCaches = false;
  using PanelsQ = Panels<kGroupRows, kHeadDim>;
  using PanelsK = Panels<Keys, kHeadDim>;
  // A multiple of kGroups: a group that waits for a slice has then seen the buffer's last one.
  static constexpr int kSlicesAtOnce = 2 * kGroups;
  static constexpr int kTiles = 5 * 128 / Keys;
  using RingQ = Ring<kSlicesAtOnce>;
  using RingK = Ring<kTiles>;

  struct Shared {
    static constexpr int kK = kSlicesAtOnce * PanelsQ::kBytes, kV = kK + kTiles * PanelsK::kBytes;
    static constexpr int kBarriers = kV + kTiles * PanelsK::kBytes;
    static constexpr int kWork = kBarriers + 2 * RingQ::kBytes + RingK::kBytes;
    static constexpr int kAgain = kWork + kSlicesAtOnce * kWorkBytes, kBytes = kAgain + kMostWarps * 4;
    char* memory;
    uint32_t address;

    DEVICE_MEMBER PanelsQ q(uint32_t stage) const { return {address + stage * PanelsQ::kBytes}; }
    DEVICE_MEMBER PanelsK k(uint32_t stage) const { return {address + kK + stage * PanelsK::kBytes}; }
    DEVICE_MEMBER PanelsK v(uint32_t stage) const { return {address + kV + stage * PanelsK::kBytes}; }
    // A slice is there when it is found and copied. Its Q is given back before its result is stored.
    DEVICE_MEMBER RingQ q_ring() const { return {address + kBarriers}; }
    DEVICE_MEMBER RingQ found_ring() const { return q_ring(); }
    DEVICE_MEMBER RingQ work_ring() const { return {q_ring().barriers + RingQ::kBytes}; }  // only `empty`
    DEVICE_MEMBER RingK k_ring() const { return {work_ring().barriers + RingQ::kBytes}; }
    DEVICE_MEMBER Work& work(uint32_t n) const {
      return *reinterpret_cast<Work*>(memory + kWork + RingQ::stage(n) * kWorkBytes);
    }
    // Whether a row that this warp has stored must be computed again.
    DEVICE_MEMBER volatile int& again() const { return reinterpret_cast<int*>(memory + kAgain)[thread_id() / kWave]; }
  };
};

// The feeding thread: for each part of a head all tiles of its keys, and its slices.
template <int Keys>
class SliceFeeder {
  using Tile = SliceTile<Keys>;
  using Shared = typename Tile::Shared;

 public:
  DEVICE_MEMBER SliceFeeder(AllArgs& a, const Shared& shared) : a_(a.all), slices_(a.slices), shared_(shared) {
    find(workgroup_id());
  }

  // The part's keys, and each group's first slice before most of them: other groups may still need those buffers.
  DEVICE_MEMBER void load_keys() const {
    if (!exists()) return;
    const int head_k = head_ / a_.forward.problem.group;
    // No slice may have needed the buffers' last tiles. Their copies end before slices wait for new ones.
#pragma unroll 1
    for (int i = 0; i < slices_.tiles; ++i)
      shared_.k_ring().full(tiles_ + i).wait(shared_.k_ring().parity(tiles_ + i) ^ 1);
#pragma unroll 1
    for (int i = 0; i < slices_.tiles; ++i) {
      const auto ring = shared_.k_ring();
      const uint32_t n = tiles_ + i, stage = ring.stage(n);
      ring.wait_until_empty(n);
      const Barrier arrival = ring.full(n);
      arrival.arrive_expecting(2 * Tile::PanelsK::kBytes);
      shared_.k(stage).copy(a_.k, arrival, i * Keys, head_k, batch_);
      if (i == 0) load_slices(0, 1);
      shared_.v(stage).copy(a_.v, arrival, i * Keys, head_k, batch_);
      if (i == 0) load_slices(1, min(kGroups, slices_.count));
    }
  }
  // After load_keys(): the rest.
  DEVICE_MEMBER void run() {
    while (exists()) {
      load_slices(kGroups, slices_.count);
      begun_ += slices_.count;
      tiles_ += slices_.tiles;
      find(place_ + workgroups());
      load_keys();
    }
#pragma unroll 1
    for (int i = 0; i < kGroups; ++i) {  // there are no more
      shared_.q_ring().wait_until_empty(begun_ + i);
      shared_.q_ring().full(begun_ + i).arrive();
    }
  }

 private:
  DEVICE_MEMBER bool exists() const { return batch_ < a_.forward.problem.batch; }
  DEVICE_MEMBER void find(int place) {
    place_ = place;
    const int head = place / a_.turns.tiles;
    first_row_ = slice_of(slices_, place % a_.turns.tiles, 0) * kGroupRows;
    batch_ = head / a_.forward.problem.heads_q;
    head_ = head % a_.forward.problem.heads_q;
  }
  DEVICE_MEMBER void load_slices(int first, int end) const {
    const auto ring = shared_.q_ring();
#pragma unroll 1
    for (int i = first; i < end; ++i) {
      const uint32_t n = begun_ + i;
      ring.wait_until_empty(n);
      shared_.q(ring.stage(n)).load(a_.q, ring.full(n), first_row_ - i * kGroupRows, head_, batch_);
    }
  }

  Args& a_;
  const rapt_hopper_slices& slices_;
  const Shared shared_;
  int place_, head_, batch_, first_row_;
  uint32_t begun_ = 0, tiles_ = 0;  // slices, and tiles of keys, of earlier parts
};

template <int Keys>
class SliceGroup {
  using Tile = SliceTile<Keys>;
  using Shared = typename Tile::Shared;
  using PanelsQ = typename Tile::PanelsQ;
  using PanelsK = typename Tile::PanelsK;
  static constexpr int kHeadDim = RAPT_HEAD_DIM, kKeyTiles = Keys / 8;
  using Scores = Accumulators<kKeyTiles>;
  using Outputs = Accumulators<kHeadDim / 8>;
  using Weights = Fragment[kKeyTiles / 2];

 public:
  DEVICE_MEMBER SliceGroup(AllArgs& a, const Shared& shared, int group)
      : a_(a.all),
        slices_(a.slices),
        shared_(shared),
        softmax_(a.all.forward.problem.scale_log2, a.all.scale_inverse),
        slice_(group) {}

  DEVICE_MEMBER void run() {
    begin();
    if (tiles_ == 0) return;
    Scores s;
    Outputs o;
    Weights p;
    wait_for_keys();
    products_begin();
    multiply_k(s);
    wait_for_products<0>();
    keep(s);
    used_keys(tiles_ == 1);
#pragma unroll 1
    while (tiles_ > 0) {
      clear(o);
      softmax_.weigh_first(s, is_partial(0), [&] { exclude_keys(s, 0); });
      round_to_operand<T>(s, p);
      softmax_.settle();
#pragma unroll 1
      for (int i = 1; i < tiles_; ++i) {
        wait_for_keys();
        multiply(s, p, o, next_ - 1);
        used_keys(i + 1 == tiles_);
        softmax_.weigh(
            s, is_partial(i), [&] { exclude_keys(s, i); },
            [&](const float(&factor)[2]) {
              wait_for_products<0>();
              keep(o);
              multiply_rows_by(o, factor);
            },
            [] {});
        wait_for_products<0>();
        keep(o);
        give_back_keys(next_ - 2);
        round_to_operand<T>(s, p);
        softmax_.settle();
      }
      keep(o);
      products_begin();
      multiply_v(p, o, next_ - 1);
      wait_for_products<0>();
      keep(o);
      give_back_keys(next_ - 1);
      give_back_others();
      slice_ += kGroups;
      begin();
      if (tiles_ > 0) wait_for_keys();
      products_begin();
      multiply_k(s);  // beside the end of the last slice
      if (rarely(store(o))) shared_.again() = 1;
      wait_for_products<0>();
      keep(s);
      if (tiles_ > 0) used_keys(tiles_ == 1);
    }
  }

 private:
  DEVICE bool leads() { return thread_id() % kGroupThreads == 0; }
  // The first of the warp's rows.
  DEVICE int warp_row() { return (thread_id() & 3 * kWave) / kWave * kWarpRows; }
  // Tells the compiler that lanes have the same number: it then computes with it once for a warp.
  DEVICE int same_in_all_lanes(int x) { return __shfl_sync(~0u, x, 0); }
  DEVICE_MEMBER const Work& work() const { return shared_.work(slice_); }
  DEVICE_MEMBER const Work& last_work() const { return shared_.work(slice_ - kGroups); }
  // All rows attend the tiles before.
  DEVICE_MEMBER bool is_partial(int tile) const { return tile >= full_end_; }

  DEVICE_MEMBER void begin() {
    shared_.q_ring().wait_until_full(slice_);
    tiles_ = same_in_all_lanes(work().tiles);
    if (tiles_ == 0) return;
    full_end_ = same_in_all_lanes(work().full_end);
    next_ = same_in_all_lanes(work().copied);
  }
  // Products have read the next tile of K, and maybe the last one of the slice.
  DEVICE_MEMBER void used_keys(bool last) {
    ++next_;
    shared_.q_ring().give_back(slice_, last && leads());
  }
  // Waits for the next tile, if no earlier slice of the head has.
  DEVICE_MEMBER void wait_for_keys() {
    if (static_cast<int>(next_ - here_) < 0) return;
    shared_.k_ring().wait_until_full(next_);
    here_ = next_ + 1;
  }
  DEVICE_MEMBER void give_back_keys(uint32_t n) const { shared_.k_ring().give_back(n, leads()); }
  // The head's tiles that the slice does not need.
  DEVICE_MEMBER void give_back_others() {
#pragma unroll 1
    for (int i = tiles_; i < slices_.tiles; ++i, ++next_) {
      wait_for_keys();
      give_back_keys(next_);
    }
  }
  DEVICE_MEMBER void multiply_k(Scores& s) const {
    const MatrixDescriptor q = shared_.q(0).rows(0) + Tile::RingQ::stage(slice_) * PanelsQ::kBytes;
    const MatrixDescriptor k = shared_.k(0).rows(0) + Tile::RingK::stage(next_) * PanelsK::kBytes;
#pragma unroll
    for (int i = 0; i < kHeadDim / PanelsQ::kStepColumns; ++i)
      multiply_rows(s, q + PanelsQ::along_columns(i), k + PanelsK::along_columns(i), i > 0, T());
    products_end();
  }
  DEVICE_MEMBER void multiply_v(const Weights& p, Outputs& o, uint32_t n) const {
    const MatrixDescriptor v = shared_.v(0).transposed() + Tile::RingK::stage(n) * PanelsK::kBytes;
#pragma unroll
    for (int i = 0; i < Keys / PanelsK::kStepColumns; ++i) multiply_fragment(o, p[i], v + PanelsK::along_rows(i), T());
    products_end();
  }
  // S of the next keys, and starts O of the `last`-th tile.
  DEVICE_MEMBER void multiply(Scores& s, const Weights& p, Outputs& o, uint32_t last) const {
    keep(o);
    products_begin();
    multiply_k(s);
    multiply_v(p, o, last);
    wait_for_products<1>();
    keep(s);
  }
  DEVICE_MEMBER void exclude_keys(Scores& s, int tile) const {
    Problem& problem = a_.forward.problem;
    const Block block = work().block(problem);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = block.first_row + warp_row() + row_in_wave(0, half, lane());
      const TileLogits<kKeyTiles> logits = {s, half, lane()};
      const int count = end_key(problem, block, row) - tile * Keys - logits.first_key();
#pragma unroll
      for (int i = 0; i < logits.count; ++i)
        if (logits.step(i) >= count) logits.set(i, kMasked);
    }
  }
  // Stores the last slice's rows. Returns whether one has an Inf or NaN that may come from a key it does not attend.
  DEVICE_MEMBER bool store(const Outputs& o) const {
    const Work& work = last_work();
    const bool again = store_rows(a_.forward, softmax_, 0, work, work.first_row + warp_row(), o);
    wave_barrier();
    shared_.work_ring().give_back(slice_ - kGroups, lane() == 0);
    return any_lane(again);
  }

  Args& a_;
  const rapt_hopper_slices& slices_;
  const Shared shared_;
  RunningSoftmax<T, kKeyTiles, kScores> softmax_;
  int tiles_, full_end_;  // of this slice
  uint32_t slice_;        // of the workgroup's
  uint32_t next_;         // tile of keys
  uint32_t here_ = 0;     // behind the last tile that this group has waited for
};

template <int Keys>
DEVICE void run_slices(AllArgs& arguments, char* memory) {
  using Tile = SliceTile<Keys>;
  static_assert(Tile::Shared::kBytes <= RAPT_SHARED_BYTES);
  const typename Tile::Shared shared = {memory, shared_address(memory)};
  const int group = __shfl_sync(~0u, thread_id() / kGroupThreads, 0);
  if (thread_id() == 0) {
    prefetch_map(arguments.all.q);
    prefetch_map(arguments.all.k);
    prefetch_map(arguments.all.v);
    shared.q_ring().init(1, 2);
    shared.work_ring().init(4);  // each warp gives back
    shared.k_ring().init(arguments.slices.count);
    publish_barriers();
  }
  wait_for_previous();
  if (thread_id() == 0) SliceFeeder<Keys>(arguments, shared).load_keys();  // before the other threads begin
  barrier();
  let_next_start();
  if (group == 0) {
    give_up_registers<kFeederRegisters>();
    if (thread_id() == kWave) Finder<Tile, SliceTurns>(arguments, shared, SliceTurns(arguments, 0, 1)).run();
    if (thread_id() == 0) SliceFeeder<Keys>(arguments, shared).run();
  } else {
    take_registers<kRegisters>();
    if (thread_id() % kWave == 0) shared.again() = 0;
    SliceGroup<Keys>(arguments, shared, group - 1).run();
    wave_barrier();
    if (shared.again() != 0)
      run_again<T, kGroupRows, kAgainDims, false>(arguments, (thread_id() & 3 * kWave) / kWave * kWarpRows,
                                                  SliceTurns(arguments, group - 1, kGroups));
  }
}

}  // namespace rapt::nvidia
