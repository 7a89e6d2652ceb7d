// dK and dV by wgmma and TMA, for head dims above 128: Hopper only. S^T = K Q^T, dP^T = V dO^T,
// dV += P^T dO, dK += dS^T Q.
//
// A workgroup stays on its multiprocessor and computes tiles of 64 keys, one after another (turns.hpp), in steps of 64
// queries. Registers of four warps hold dK or dV, not both: one group of four warps computes P^T and dV, another one
// dP^T, dS^T and dK. P^T passes from one to the other through shared memory. Four more warps have one thread that
// copies.
//
// A group starts its gradient of a step together with its scores of the next one. While it makes P^T or dS^T of them,
// the other group's products run.
#include "kernels/hopper/attention/backward_tiles.hpp"
#include "kernels/hopper/isa/bulk_copy.hpp"

namespace rapt::nvidia {

inline constexpr int kQueries = kRows, kKeys = kRows;
inline constexpr int kStatisticsBytes = kQueries * static_cast<int>(sizeof(rapt_abi_row_statistics));

// A tile of keys, and its steps of queries for each head of q that shares its head of k.
struct Work {
  int first_key, head, batch;  // head: of k
  int first_step, steps;       // no steps: there is nothing more to do
  int full_begin, full_end;    // queries that attend all of the keys
};

// Shared memory: addresses, and what is read as C++ reads it.
struct Shared {
  using RingK = Ring<1>;
  using RingQ = Ring<2>;
  static constexpr int kWeightBytes = kRows * kRows * static_cast<int>(sizeof(float));
  static constexpr int kQ = 2 * Tile::kBytes, kDout = kQ + 2 * Tile::kBytes, kWeights = kDout + 2 * Tile::kBytes;
  static constexpr int kStatistics = kWeights + 2 * kWeightBytes;
  static constexpr int kBarriers = kStatistics + 2 * kStatisticsBytes, kWorkBytes = 32;
  static constexpr int kWork = kBarriers + 2 * RingK::kBytes + 3 * RingQ::kBytes;
  static constexpr int kFound = kWork + 2 * kWorkBytes, kBytes = kFound + 16;
  char* memory;
  uint32_t address;

  DEVICE_MEMBER Tile k() const { return {address}; }
  DEVICE_MEMBER Tile v() const { return {address + Tile::kBytes}; }
  DEVICE_MEMBER Tile q(uint32_t n) const { return {address + kQ + RingQ::stage(n) * Tile::kBytes}; }
  DEVICE_MEMBER Tile dout(uint32_t n) const { return {address + kDout + RingQ::stage(n) * Tile::kBytes}; }
  DEVICE_MEMBER uint32_t statistics(uint32_t n) const { return kStatistics + RingQ::stage(n) * kStatisticsBytes; }
  // P^T of a step, as the threads of both groups have it: four elements after four elements, thread by thread.
  DEVICE_MEMBER float4* weights(uint32_t n) const {
    return reinterpret_cast<float4*>(memory + kWeights + RingQ::stage(n) * kWeightBytes) + thread_id() % kGroupThreads;
  }
  DEVICE_MEMBER RingK k_ring() const { return {address + kBarriers}; }
  DEVICE_MEMBER RingK v_ring() const { return {k_ring().barriers + RingK::kBytes}; }
  DEVICE_MEMBER RingQ q_ring() const { return {v_ring().barriers + RingK::kBytes}; }
  DEVICE_MEMBER RingQ dout_ring() const { return {q_ring().barriers + RingQ::kBytes}; }
  DEVICE_MEMBER RingQ weights_ring() const { return {dout_ring().barriers + RingQ::kBytes}; }
  // Groups still store a tile when K and V of the next one arrive: there are two.
  DEVICE_MEMBER Work& work(uint32_t n) const { return *reinterpret_cast<Work*>(memory + kWork + n % 2 * kWorkBytes); }
  // Whether an element of dK or dV of the workgroup's tiles is Inf or NaN.
  DEVICE_MEMBER volatile int& found() const { return *reinterpret_cast<int*>(memory + kFound); }

  DEVICE_MEMBER void init() const {
    found() = 0;
    k_ring().init(1);
    v_ring().init(1);
    q_ring().init(kGroups, 2);  // Q, and the statistics
    dout_ring().init(kGroups);
    weights_ring().init(4, 4);  // warps
  }
};
static_assert(RAPT_SHARED_BYTES == Shared::kBytes, "shared= of the row");

DEVICE Block block_of_turn(Problem& p, int tiles, const QueryTile& turn) {
  // Turns are in the order of lengths if the last tile is the longest one. Here it is the first one.
  return unpacked_block(p, turn.head % p.heads_k, turn.head / p.heads_k, (tiles - 1 - turn.tile) * kKeys);
}

DEVICE Work work_of(Args& a, const QueryTile& turn) {
  if (turn.head < 0) return {};
  Problem& p = a.backward.problem;
  const Block block = block_of_turn(p, a.turns.tiles, turn);
  const Queries queries = queries_of(p, block, block.first_row, kKeys);
  Work work = {block.first_row, block.head, block.batch};
  // Keys without queries have one step, of queries that do not attend them.
  const int all = (p.seqlen_q + kQueries - 1) / kQueries;
  work.first_step = min(queries.begin / kQueries, all - 1);
  work.steps = max((queries.end + kQueries - 1) / kQueries - work.first_step, 1);
  work.full_begin = queries.full_begin;
  work.full_end = queries.full_end < p.seqlen_q ? queries.full_end : all * kQueries;  // what does not exist weighs 0
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
      const int group = a_.backward.problem.group;
      int step = work.first_step, head = work.head * group;
#pragma unroll 1
      for (int i = 0; i < work.steps * group; ++i) {
        load_rows(step * kQueries, head, work.batch);
        if (i == 0) load_keys(work);  // when the last tile's keys are not needed any more
        if (++step == work.first_step + work.steps) step = work.first_step, ++head;
      }
    }
    begin_tile({});
    shared_.k_ring().full(tiles_).arrive();
    shared_.v_ring().full(tiles_).arrive();
  }

 private:
  DEVICE_MEMBER void begin_tile(const Work& work) const {
    shared_.k_ring().wait_until_empty(tiles_);
    shared_.v_ring().wait_until_empty(tiles_);
    shared_.work(tiles_) = work;
  }
  DEVICE_MEMBER void load_keys(const Work& work) {
    begin_tile(work);
    shared_.k().load(a_.k, shared_.k_ring().full(tiles_), work.first_key, work.head, work.batch);
    shared_.v().load(a_.v, shared_.v_ring().full(tiles_), work.first_key, work.head, work.batch);
    ++tiles_;
  }
  // Q with the statistics, and dO.
  DEVICE_MEMBER void load_rows(int row, int head, int batch) {
    shared_.q_ring().wait_until_empty(fills_);
    const Barrier arrival = shared_.q_ring().full(fills_);
    shared_.q(fills_).load(a_.q, arrival, row, head, batch);
    arrival.arrive_expecting(kStatisticsBytes);
    copy_bytes(shared_.address + shared_.statistics(fills_), statistics_of(a_.backward, batch, {row}, head),
               kStatisticsBytes, arrival);
    shared_.dout_ring().wait_until_empty(fills_);
    shared_.dout(fills_).load(a_.dout, shared_.dout_ring().full(fills_), row, head, batch);
    ++fills_;
  }

  Args& a_;
  const Shared shared_;
  uint32_t tiles_ = 0, fills_ = 0;
};

// A group's gradient of each tile of keys: dV of P^T if it `Weighs`, else dK of dS^T.
template <bool Weighs>
class Group {
 public:
  DEVICE_MEMBER Group(Args& a, const Shared& shared) : a_(a), shared_(shared) {}

  DEVICE_MEMBER void run() {
#pragma unroll 1
    for (; begin_tile(); ++tile_) {
      Scores s;
      Gradients sums;
      products_begin();
      start_scores(s, fill_);
      int left = steps_ * a_.backward.problem.group;
      make_operand(s, left == 1);
      clear(sums);
#pragma unroll 1
      for (; left > 1; --left) add_step<false>(s, sums, left == 2);
      add_step<true>(s, sums, false);
      store(sums);
    }
  }

 private:
  // K or V, and what is multiplied by it; what makes the gradient.
  DEVICE_MEMBER Shared::RingK keys_ring() const { return Weighs ? shared_.k_ring() : shared_.v_ring(); }
  DEVICE_MEMBER Shared::RingQ scores_ring() const { return Weighs ? shared_.q_ring() : shared_.dout_ring(); }
  DEVICE_MEMBER Shared::RingQ gradient_ring() const { return Weighs ? shared_.dout_ring() : shared_.q_ring(); }

  // False if there is no other tile.
  DEVICE_MEMBER bool begin_tile() {
    keys_ring().wait_until_full(tile_);
    const Work& work = shared_.work(tile_);
    steps_ = same_in_all_lanes(work.steps);
    first_step_ = step_ = same_in_all_lanes(work.first_step);
    full_begin_ = same_in_all_lanes(work.full_begin);
    full_end_ = same_in_all_lanes(work.full_end);
    head_ = same_in_all_lanes(work.head) * a_.backward.problem.group;
    return steps_ > 0;
  }

  // Starts S^T of a fill, or dP^T.
  DEVICE_MEMBER void start_scores(Scores& s, uint32_t fill) const {
    scores_ring().wait_until_full(fill);
    start_product(s, Weighs ? shared_.k() : shared_.v(), Weighs ? shared_.q(fill) : shared_.dout(fill));
  }
  // Waits for them, and makes P^T or dS^T of them.
  DEVICE_MEMBER void make_operand(Scores& s, bool last) {
    wait_for_products<0>();
    keep(s);
    keys_ring().give_back(tile_, leads() && last);
    if constexpr (Weighs) weigh(s);
    else differentiate(s);
    scores_ring().give_back(fill_, leads());
    if (++step_ == first_step_ + steps_) step_ = first_step_, ++head_;
  }

  // The gradient of a step, whose operand is in `s`. Then `s` has the next step's.
  template <bool Last>
  DEVICE_MEMBER void add_step(Scores& s, Gradients& sums, bool next_is_last) {
    Operands rounded;
    round_to_operand<T>(s, rounded);
    gradient_ring().wait_until_full(fill_);
    keep(sums);
    products_begin();
    start_sum(sums, rounded, Weighs ? shared_.dout(fill_) : shared_.q(fill_));
    if (!Last) start_scores(s, fill_ + 1);
    wait_for_products<Last ? 0 : 1>();
    keep(sums);
    gradient_ring().give_back(fill_++, leads());
    if (!Last) make_operand(s, next_is_last);
  }

  // P^T of S^T.
  DEVICE_MEMBER void weigh(Scores& s) const {
    Problem& p = a_.backward.problem;
    const int first_row = step_ * kQueries;
    if (rarely(first_row < full_begin_ || first_row + kQueries > full_end_)) exclude_queries(s, first_row);
    const float4* const pairs = pairs_of(fill_);
    weigh_scores(s, {p.scale, p.scale_log2}, false, [&](int i) {
      const float4 pair = pairs[4 * i];
      return make_float4(pair.x, pair.z, pair.x, pair.z);
    });
    shared_.weights_ring().wait_until_empty(fill_);
    float4* const to = shared_.weights(fill_);
#pragma unroll
    for (int i = 0; i < kQueries / 8; ++i) to[i * kGroupThreads] = make_float4(s[i][0], s[i][1], s[i][2], s[i][3]);
    wave_barrier();
    shared_.weights_ring().full(fill_).arrive_if(lane() == 0);
  }
  DEVICE_MEMBER void exclude_queries(Scores& s, int first_row) const {
    const Work& work = shared_.work(tile_);
    const Block block = unpacked_block(a_.backward.problem, work.head, work.batch, work.first_key);
    scores_of_keys(s).exclude(a_.backward.problem, block, work.first_key + warp_row(), first_row);
  }
  DEVICE_MEMBER ScoresOfKeys<kQueries / 8> scores_of_keys(Scores& s) const {
    return {s, warp_row(), warp_row(), lane()};
  }

  // dS^T of dP^T.
  DEVICE_MEMBER void differentiate(Scores& s) const {
    shared_.q_ring().wait_until_full(fill_);  // the statistics
    const float4* const pairs = pairs_of(fill_);
    shared_.weights_ring().wait_until_full(fill_);
    const float4* const from = shared_.weights(fill_);
#pragma unroll
    for (int i = 0; i < kQueries / 8; ++i) {
      const float4 pair = pairs[4 * i], weight = from[i * kGroupThreads];
      s[i][0] = weight.x * (s[i][0] - pair.y), s[i][1] = weight.y * (s[i][1] - pair.w);
      s[i][2] = weight.z * (s[i][2] - pair.y), s[i][3] = weight.w * (s[i][3] - pair.w);
    }
    wave_barrier();
    shared_.weights_ring().give_back(fill_, lane() == 0);
  }
  // The statistics of the lane's columns: lse and delta of a query and of the next one.
  DEVICE_MEMBER const float4* pairs_of(uint32_t fill) const {
    return reinterpret_cast<const float4*>(shared_.memory + shared_.statistics(fill)) + lane() % 4;
  }

  DEVICE_MEMBER void store(const Gradients& sums) const {
    const rapt_backward_args& a = a_.backward;
    Problem& p = a.problem;
    const auto& to = Weighs ? a.dv : a.dk;
    if (to.data == nullptr) return;
    const Work& work = shared_.work(tile_);
    char* const data = first_row_of(to, work.batch, {0, p.seqlen_k}, work.head);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int key = work.first_key + warp_row() + row_in_wave(0, half, lane());
      const bool exists = key < p.seqlen_k;
      // A vote: behind a branch of single lanes the compiler takes products' descriptors from registers of the lanes.
      if (rarely(any_lane(exists && not_finite(sums, half)))) shared_.found() = 1;
      store_row<T>(data + key * to.seq, Weighs ? p.head_dim_v : p.head_dim, sums, half, lane(), Weighs ? 1 : p.scale,
                   exists);
    }
  }

  Args& a_;
  const Shared shared_;
  int steps_, first_step_, full_begin_, full_end_;  // of the tile
  int step_, head_;                                 // whose operand is next
  uint32_t tile_ = 0, fill_ = 0;                    // tiles and steps so far
};

// A group's four warps share a tile (infinite_rows.hpp).
struct OwnWarps {
  DEVICE void wait() { NamedBarrier{1 + thread_id() / kGroupThreads, kGroupThreads}.wait(); }
  DEVICE int number() { return thread_id() / kWave % 4; }
};

// Looks at all that the workgroup has stored, when both groups have. Each group looks at every second tile.
DEVICE void compute_again(Args& arguments, int group) {
  const rapt_backward_args& a = arguments.backward;
  Problem& p = a.problem;
  Turns turns(arguments.turns, workgroup_id(), workgroups());
  int number = 0;
#pragma unroll 1
  for (QueryTile turn = turns.next(); turn.head >= 0; turn = turns.next()) {
    if (number++ % kGroups != group) continue;
    const Block block = block_of_turn(p, arguments.turns.tiles, turn);
    const auto finite = [&](const rapt_abi_rows& rows, int dims) {
      bool all = true;
#pragma unroll 1
      for (int row = 0; rows.data != nullptr && row < kKeys; row += kWarpRows)
        all &= RowsInMemory<T>::of(rows, block.batch, block.k, block.head, dims).finite(block.first_row + row, lane());
      return all;
    };
    const bool again = !finite(a.dk, p.head_dim) || !finite(a.dv, p.head_dim_v);
    OwnWarps::wait();  // all four have looked
    if (!again) continue;
    run_again<T, run_keys<T, false>>(a, block, block.first_row + warp_row(), lane());
    add_infinite_rows<T, false, kKeys, 4, OwnWarps>(a, block);
  }
}

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
    if (group == 1) Group<true>(arguments, shared).run();
    else Group<false>(arguments, shared).run();
    NamedBarrier{1, kGroups * kGroupThreads}.wait();
    if (rarely(shared.found())) compute_again(arguments, group - 1);
  }
}
