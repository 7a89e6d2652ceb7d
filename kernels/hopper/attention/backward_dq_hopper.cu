// dQ by wgmma and TMA, for head dims above 128: Hopper only. S = Q K^T, dP = dO V^T, dQ += dS K.
//
// A workgroup stays on its multiprocessor and computes tiles of 128 queries, one after another (turns.hpp), in steps of
// 64 keys. Two groups of four warps have 64 queries each, and keep dQ in registers. Four more warps have one thread
// that copies. A group starts dQ of a step together with S and dP of the next one. While it makes dS of them, the other
// group's products run.
//
// A tile begins with delta of its rows. O takes the places of the tile's first K and V, which follow it.
#include "kernels/hopper/attention/backward_tiles.hpp"

namespace rapt::nvidia {

inline constexpr int kQueries = kGroups * kRows, kKeys = kRows;

// A tile of queries and its keys, in steps: the feeding thread says it of each fill of dO.
struct Work {
  int first_row, head, batch;
  int first_step, steps;     // no steps: there is nothing more to do
  int full_begin, full_end;  // the steps whose keys all rows attend
};

// Shared memory: addresses, and what is read as C++ reads it. Q and dO have a tile for each group.
struct Shared {
  using RingQ = Ring<1>;
  using RingK = Ring<2>;
  using RingV = Ring<1>;
  static constexpr int kDout = kGroups * Tile::kBytes, kK = 2 * kDout, kV = kK + 2 * Tile::kBytes;
  static constexpr int kBarriers = kV + Tile::kBytes, kWorkBytes = 32;
  static constexpr int kWork = kBarriers + 2 * RingQ::kBytes + RingK::kBytes + RingV::kBytes;
  static constexpr int kBytes = kWork + 2 * kWorkBytes;
  char* memory;
  uint32_t address;

  DEVICE_MEMBER Tile q(int group) const { return {address + static_cast<uint32_t>(group * Tile::kBytes)}; }
  DEVICE_MEMBER Tile dout(int group) const { return {address + kDout + static_cast<uint32_t>(group * Tile::kBytes)}; }
  DEVICE_MEMBER Tile k(uint32_t n) const { return {address + kK + RingK::stage(n) * Tile::kBytes}; }
  DEVICE_MEMBER Tile v() const { return {address + kV}; }
  DEVICE_MEMBER RingQ q_ring() const { return {address + kBarriers}; }
  DEVICE_MEMBER RingQ dout_ring() const { return {q_ring().barriers + RingQ::kBytes}; }
  DEVICE_MEMBER RingK k_ring() const { return {dout_ring().barriers + RingQ::kBytes}; }
  DEVICE_MEMBER RingV v_ring() const { return {k_ring().barriers + RingK::kBytes}; }
  // Groups still store a tile when dO of the next one arrives: there are two.
  DEVICE_MEMBER Work& work(uint32_t n) const { return *reinterpret_cast<Work*>(memory + kWork + n % 2 * kWorkBytes); }

  DEVICE_MEMBER void init() const {
    q_ring().init(kGroups, kGroups);
    dout_ring().init(kGroups, kGroups);
    k_ring().init(kGroups);
    v_ring().init(kGroups);
  }
};
static_assert(RAPT_SHARED_BYTES == Shared::kBytes, "shared= of the row");

DEVICE Work work_of(Args& a, const QueryTile& turn) {
  if (turn.head < 0) return {};
  Problem& p = a.backward.problem;
  Work work = {turn.tile * kQueries, turn.head % p.heads_q, turn.head / p.heads_q};
  const Keys keys = keys_of(p, unpacked_block(p, work.head, work.batch, work.first_row), work.first_row, kQueries);
  work.first_step = keys.begin / kKeys;
  work.steps = max((keys.end + kKeys - 1) / kKeys - work.first_step, 1);  // rows without keys look at one step
  if (a.backward.dq.data == nullptr) work.steps = 1;
  work.full_begin = (keys.full_begin + kKeys - 1) / kKeys - work.first_step;
  work.full_end = keys.full_end / kKeys - work.first_step;
  return work;
}

// The feeding thread.
class Feeder {
 public:
  DEVICE_MEMBER Feeder(Args& a, const Shared& shared) : a_(a), shared_(shared) {}

  DEVICE_MEMBER void run() {
    Turns turns(a_.turns, workgroup_id(), workgroups());
#pragma unroll 1
    for (Work work = work_of(a_, turns.next()); work.steps > 0; work = work_of(a_, turns.next())) {
      load_rows(work);
      const int head = work.head / a_.backward.problem.group, end = work.first_step + work.steps;
#pragma unroll 1
      for (int step = work.first_step; step < end; ++step) {
        load_k(a_.k, step * kKeys, head, work.batch);
        load_v(a_.v, step * kKeys, head, work.batch);
      }
    }
    shared_.dout_ring().wait_until_empty(tiles_);
    shared_.work(tiles_) = {};
    for (int group = 0; group < kGroups; ++group) shared_.dout_ring().full(tiles_).arrive();
  }

 private:
  // Q, dO and O of a tile of queries.
  DEVICE_MEMBER void load_rows(const Work& work) {
    shared_.q_ring().wait_until_empty(tiles_);
    for (int group = 0; group < kGroups; ++group)
      shared_.q(group).load(a_.q, shared_.q_ring().full(tiles_), row_of(work, group), work.head, work.batch);
    shared_.dout_ring().wait_until_empty(tiles_);
    shared_.work(tiles_) = work;
    for (int group = 0; group < kGroups; ++group)
      shared_.dout(group).load(a_.dout, shared_.dout_ring().full(tiles_), row_of(work, group), work.head, work.batch);
    load_v(a_.out, row_of(work, 0), work.head, work.batch);
    load_k(a_.out, row_of(work, 1), work.head, work.batch);
    ++tiles_;
  }
  DEVICE int row_of(const Work& work, int group) { return work.first_row + group * kRows; }
  DEVICE_MEMBER void load_k(TensorMap& map, int row, int head, int batch) {
    shared_.k_ring().wait_until_empty(fills_of_k_);
    shared_.k(fills_of_k_).load(map, shared_.k_ring().full(fills_of_k_), row, head, batch);
    ++fills_of_k_;
  }
  DEVICE_MEMBER void load_v(TensorMap& map, int row, int head, int batch) {
    shared_.v_ring().wait_until_empty(fills_of_v_);
    shared_.v().load(map, shared_.v_ring().full(fills_of_v_), row, head, batch);
    ++fills_of_v_;
  }

  Args& a_;
  const Shared shared_;
  uint32_t tiles_ = 0, fills_of_k_ = 0, fills_of_v_ = 0;
};

// A group's 64 rows of each tile of queries.
class Group {
 public:
  DEVICE_MEMBER Group(Args& a, const Shared& shared, int group) : a_(a), shared_(shared), group_(group) {}

  DEVICE_MEMBER void run() {
    bool again = false;
#pragma unroll 1
    for (; begin_tile(); ++tile_) {
      Scores s, dp;
      Gradients dq;
      make_statistics();
      shared_.q_ring().wait_until_full(tile_);
      products_begin();
      start_s(s, fill_);
      differentiate(s, dp, 0);
      clear(dq);
#pragma unroll 1
      for (int step = 0; step + 1 < steps_; ++step) add_step<false>(s, dp, dq, step);
      add_step<true>(s, dp, dq, steps_ - 1);
      again |= store(dq);
    }
    if (again) run_rows_again();
  }

 private:
  // False if there is no other tile.
  DEVICE_MEMBER bool begin_tile() {
    shared_.dout_ring().wait_until_full(tile_);
    const Work& work = shared_.work(tile_);
    steps_ = same_in_all_lanes(work.steps);
    full_begin_ = same_in_all_lanes(work.full_begin);
    full_end_ = same_in_all_lanes(work.full_end);
    return steps_ > 0;
  }
  DEVICE_MEMBER Block block() const {
    const Work& work = shared_.work(tile_);
    return unpacked_block(a_.backward.problem, work.head, work.batch, work.first_row);
  }
  DEVICE_MEMBER int row_of(const Block& block, int half) const {
    return block.first_row + group_ * kRows + warp_row() + row_in_wave(0, half, lane());
  }

  // lse and delta of the lane's rows, also for backward_dkv_hopper.
  DEVICE_MEMBER void make_statistics() {
    const Block rows = block();
    float lse[2], delta[2];
    for (int half = 0; half < 2; ++half) lse[half] = lse_of(a_.backward, rows, row_of(rows, half));
    shared_.v_ring().wait_until_full(fill_);
    shared_.k_ring().wait_until_full(fill_);
    Scores c;
    products_begin();
    start_product(c, shared_.dout(group_), group_ == 0 ? shared_.v() : shared_.k(fill_));
    wait_for_products<0>();
    keep(c);
    give_back_v();
    give_back_k();
    diagonal_of(c, delta);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      statistics_[half] = statistics_from(lse[half], delta[half], lse_unit(a_.backward));
      if (lane() % 4 == 0)
        statistics_of(a_.backward, rows.batch, {row_of(rows, half)}, rows.head)[0] = statistics_[half];
    }
  }
  DEVICE_MEMBER void give_back_k() { shared_.k_ring().give_back(fill_++, leads()); }
  DEVICE_MEMBER void give_back_v() const { shared_.v_ring().give_back(fill_, leads()); }

  DEVICE_MEMBER void start_s(Scores& s, uint32_t fill) const {
    shared_.k_ring().wait_until_full(fill);
    start_product(s, shared_.q(group_), shared_.k(fill));
  }
  // Makes dS, when S of the step has been started: in place of dP.
  DEVICE_MEMBER void differentiate(Scores& s, Scores& dp, int step) const {
    const bool last = step + 1 == steps_;
    shared_.v_ring().wait_until_full(fill_);
    start_product(dp, shared_.dout(group_), shared_.v());
    wait_for_products<1>();
    keep(s);
    shared_.q_ring().give_back(tile_, leads() && last);
    weigh(s, step);
    // V has arrived. This keeps the exponentials above the wait for dP.
    Barrier{shared_.v_ring().full(fill_).address + zero_from(s)}.wait(Shared::RingV::parity(fill_));
    wait_for_products<0>();
    keep(dp);
    give_back_v();
    shared_.dout_ring().give_back(tile_, leads() && last);
#pragma unroll
    for (int i = 0; i < kKeys / 8; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) dp[i][e] = s[i][e] * (dp[i][e] - statistics_[e / 2].delta);
  }
  // P of S.
  DEVICE_MEMBER void weigh(Scores& s, int step) const {
    Problem& p = a_.backward.problem;
    if (rarely(step < full_begin_ || step >= full_end_)) exclude_keys(s, step);
    const float first = statistics_[0].lse, second = statistics_[1].lse;
    weigh_scores(s, {p.scale, p.scale_log2}, false, [&](int) { return make_float4(first, first, second, second); });
    keep(s);
  }
  DEVICE_MEMBER void exclude_keys(Scores& s, int step) const {
    Problem& problem = a_.backward.problem;
    const Block rows = block();
    const int first_key_of_step = (shared_.work(tile_).first_step + step) * kKeys;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = row_of(rows, half);
      exclude(TileLogits<kKeys / 8>{s, half, lane()}, first_key(problem, rows, row) - first_key_of_step,
              end_key(problem, rows, row) - first_key_of_step);
    }
  }

  // dQ of a step, whose dS is in `ds`. Then `ds` has the next step's.
  template <bool Last>
  DEVICE_MEMBER void add_step(Scores& s, Scores& ds, Gradients& dq, int step) {
    Operands rounded;
    round_to_operand<T>(ds, rounded);
    keep(dq);
    products_begin();
    start_sum(dq, rounded, shared_.k(fill_));
    if (!Last) start_s(s, fill_ + 1);
    wait_for_products<Last ? 0 : 1>();
    keep(dq);
    give_back_k();
    if (!Last) differentiate(s, ds, step + 1);
  }

  // Returns whether a row has an Inf or NaN that may come from a key it does not attend.
  DEVICE_MEMBER bool store(const Gradients& dq) const {
    const rapt_backward_args& a = a_.backward;
    if (a.dq.data == nullptr) return false;
    const Block rows = block();
    char* const to = first_row_of(a.dq, rows.batch, rows.q, rows.head);
    bool again = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = row_of(rows, half);
      const bool exists = row < rows.q.count;
      if (exists) again |= not_finite(dq, half) && statistics_[half].lse == statistics_[half].lse;
      store_row<T>(to + row * a.dq.seq, a.problem.head_dim, dq, half, lane(), a.problem.scale, exists);
    }
    return any_lane(again);
  }

  // Looks at the rows that this warp has stored, of all the workgroup's tiles.
  DEVICE_MEMBER void run_rows_again() const {
    const rapt_backward_args& a = a_.backward;
    Turns turns(a_.turns, workgroup_id(), workgroups());
    wave_barrier();  // the lanes have stored their parts of the rows
#pragma unroll 1
    for (QueryTile turn = turns.next(); turn.head >= 0; turn = turns.next()) {
      const int heads = a.problem.heads_q;
      const Block rows = unpacked_block(a.problem, turn.head % heads, turn.head / heads, turn.tile * kQueries);
      const int row = rows.first_row + group_ * kRows + warp_row();
      if (!RowsInMemory<T>::of(a.dq, rows.batch, rows.q, rows.head, a.problem.head_dim).finite(row, lane()))
        run_again<T, run_rows<T, false>>(a, rows, row, lane());
    }
  }

  Args& a_;
  const Shared shared_;
  const int group_;
  rapt_abi_row_statistics statistics_[2];  // of the lane's rows
  int steps_, full_begin_, full_end_;      // of the tile
  uint32_t tile_ = 0;
  uint32_t fill_ = 0;  // of K and V, which have equally many
};

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, 1)
RAPT_SYMBOL(const __grid_constant__ rapt_hopper_backward_args arguments) {
  using namespace rapt::nvidia;
  extern __shared__ __align__(1024) char memory[];
  const Shared shared = {memory, shared_address(memory)};
  const int group = __shfl_sync(~0u, thread_id() / kGroupThreads, 0);
  if (thread_id() == 0) {
    shared.init();
    publish_barriers();
  }
  barrier();
  if (group == 0) {
    give_up_registers<kFeederRegisters>();
    if (thread_id() == 0) Feeder(arguments, shared).run();
  } else {
    take_registers<kRegisters>();
    Group(arguments, shared, group - 1).run();
  }
}
