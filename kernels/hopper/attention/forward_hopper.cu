// Forward attention with wgmma and TMA: Hopper only. S = Q K^T, O = P V.
//
// A workgroup has four warps that only copy, by two threads, and groups of four warps that compute 64 rows each. It
// stays on its multiprocessor and computes tiles of queries, one after another (turns.hpp), in one pipeline: the next
// tile's first product runs beside the last one's end. Within a tile S of the next keys is computed together with O of
// the last ones, and the softmax of the former runs beside the rest of the latter. Groups take turns to issue products,
// so that one group's softmax runs beside another one's products.
#include "kernels/hopper/attention/forward_slices.hpp"

namespace rapt::nvidia {

// The first of a warp's rows, within a tile of queries.
DEVICE int warp_row(int group) { return group * kGroupRows + (thread_id() & 3 * kWave) / kWave * kWarpRows; }

// A group's 64 rows of each tile of queries.
template <class Tile, bool Dropout>
class Group {
  using Shared = typename Tile::Shared;
  using PanelsK = typename Tile::PanelsK;
  using PanelsQ = typename Tile::PanelsQ;
  using PanelsOfScores = typename Tile::PanelsOfScores;
  using RingK = typename Tile::RingK;
  using RingQ = typename Tile::RingQ;
  using Kept = typename Tile::Kept;
  using Scores = typename Tile::Scores;
  using Outputs = typename Tile::Outputs;
  static constexpr int kHeadDim = Tile::kHeadDim, kKeys = Tile::kKeys, kKeyTiles = Tile::kKeyTiles;

 public:
  DEVICE_MEMBER Group(AllArgs& a, const Shared& shared, int group)
      : a_(a.all),
        options_(a.scores),
        shared_(shared),
        group_(group),
        softmax_(kScores ? a.scores.unit_log2 : a.all.forward.problem.scale_log2,
                 kScores ? a.scores.unit_log2_inverse : a.all.scale_inverse) {}

  DEVICE_MEMBER void run() {
    begin_tile();
    if (tiles_ == 0) return;
    if (kGroups > 1 && group_ == kGroups - 1) turn_of(0).arrive();
    Scores s;
    Outputs o;
    Fragment p[kKeyTiles / 2];
    shared_.k_ring().wait_until_full(keys());
    products_begin();
    multiply_k(s);
    wait_for_products<0>();
    keep(s);
    give_back_k(tiles_ == 1);
#pragma unroll 1
    while (tiles_ > 0) {
      clear(o);
      softmax_.begin();
      weigh(s, 0, [](const float(&)[2]) {});
      round(s, p);
      softmax_.settle();
#pragma unroll 1
      for (int i = 1; i < tiles_; ++i) {
        shared_.k_ring().wait_until_full(keys());
        multiply(s, p, o);
        give_back_k(i + 1 == tiles_);
        weigh(s, i, [&](const float(&factor)[2]) {
          wait_for_products<0>();
          keep(o);
          multiply_rows_by(o, factor);
        });
        finish_product(o);
        round(s, p);
        softmax_.settle();
      }
      counts_ += 1 << 16;
      begin_tile();
      if (tiles_ > 0) shared_.k_ring().wait_until_full(keys());
      multiply(s, p, o);  // S of what lies there, where no tile follows
      wait_for_products<0>();
      keep(o);
      give_back_v(keys() - 1);
      if (tiles_ > 0) give_back_k(tiles_ == 1);
      if (rarely(store(o))) shared_.again() = 1;
    }
  }

 private:
  DEVICE_MEMBER uint32_t queries() const { return counts_ >> 16; }
  DEVICE_MEMBER uint32_t keys() const { return counts_ & 0xffffu; }
  DEVICE bool leads() { return thread_id() % kGroupThreads == 0; }
  // Groups issue products one after another.
  DEVICE NamedBarrier turn_of(int group) { return {1 + group, 2 * kGroupThreads}; }

  DEVICE_MEMBER void begin_tile() {
    shared_.q_ring().wait_until_full(queries());
    const Work& work = shared_.work(queries());
    tiles_ = same_in_all_lanes(work.tiles);
    full_begin_ = same_in_all_lanes(work.full_begin);
    full_end_ = same_in_all_lanes(work.full_end);
  }
  // Tells the compiler that lanes have the same number: it then computes with it once for a warp.
  DEVICE int same_in_all_lanes(int x) { return __shfl_sync(~0u, x, 0); }

  DEVICE_MEMBER void multiply_k(Scores& s) const {
    const MatrixDescriptor q = shared_.q(0).rows(group_ * kGroupRows) + RingQ::stage(queries()) * PanelsQ::kBytes;
    const MatrixDescriptor k = shared_.k(0).rows(0) + RingK::stage(keys()) * PanelsK::kBytes;
#pragma unroll
    for (int i = 0; i < kHeadDim / PanelsQ::kStepColumns; ++i)
      multiply_rows(s, q + PanelsQ::along_columns(i), k + PanelsK::along_columns(i), i > 0, T());
    products_end();
  }
  DEVICE_MEMBER void multiply_v(const Fragment (&p)[kKeyTiles / 2], Outputs& o) const {
    const MatrixDescriptor v = shared_.v(0).transposed() + RingK::stage(keys() - 1) * PanelsK::kBytes;
#pragma unroll
    for (int i = 0; i < kKeys / PanelsK::kStepColumns; ++i) multiply_fragment(o, p[i], v + PanelsK::along_rows(i), T());
    products_end();
  }
  // S of the next keys, and starts O of the last ones, which are a tile behind. The next group begins when S is there:
  // its products follow O's without a gap, and beside them runs this group's softmax.
  DEVICE_MEMBER void multiply(Scores& s, const Fragment (&p)[kKeyTiles / 2], Outputs& o) const {
    shared_.v_ring().wait_until_full(keys() - 1);
    if constexpr (kGroups > 1) turn_of(group_).wait();
    keep(o);
    products_begin();
    multiply_k(s);
    multiply_v(p, o);
    wait_for_products<1>();
    if constexpr (kGroups > 1) pass_turn();
    keep(s);
  }
  DEVICE_MEMBER void pass_turn() const {
    int next = group_ + 1;
    asm volatile("" : "+r"(next));  // computed anew each time: registers are scarce
    turn_of(next == kGroups ? 0 : next).arrive();
  }
  DEVICE_MEMBER void give_back_k(bool last) {
    shared_.k_ring().give_back(keys(), leads());
    shared_.q_ring().give_back(queries(), leads() && last);
    counts_ = (counts_ & 0xffff0000u) | ((counts_ + 1) & 0xffffu);
  }
  DEVICE_MEMBER void give_back_v(uint32_t n) const { shared_.v_ring().give_back(n, leads()); }
  // Waits for O of the last keys.
  DEVICE_MEMBER void finish_product(Outputs& o) const {
    wait_for_products<0>();
    keep(o);
    give_back_v(keys() - 2);
  }

  // The tile's elements that dropout keeps.
  DEVICE_MEMBER void find_kept(int place) const {
    Problem& p = a_.forward.problem;
    const Work& work = shared_.work(queries());
    shared_.kept() = kept_of_rows<kKeyTiles>(shared_.dropout(), p.keep_threshold, work.batch * p.heads_q + work.head,
                                             work.first_row + warp_row(group_), first_key_of(work, place), lane());
  }
  // P as the operand of the next product.
  DEVICE_MEMBER void round(const Scores& s, Fragment (&p)[kKeyTiles / 2]) const {
    round_to_operand<T>(s, p);
    if constexpr (Dropout) drop_others(p, shared_.kept());
  }
  // P of the i-th tile of the keys.
  template <class Rescale>
  DEVICE_MEMBER void weigh(Scores& s, int i, const Rescale& rescale) {
    const int place = place_of(options_, i, tiles_);
    if constexpr (kScores) change_scores(s, place);
    softmax_.weigh(
        s, place < full_begin_ || place >= full_end_, [&] { exclude_keys(s, place); }, rescale,
        [&] {
          if constexpr (Dropout) find_kept(place);
        });
  }
  DEVICE_MEMBER void exclude_keys(Scores& s, int place) const {
    Problem& problem = a_.forward.problem;
    const Work& work = shared_.work(queries());
    const Block block = block_of(work);
    const int first_key_of_tile = first_key_of(work, place);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = work.first_row + warp_row(group_) + row_in_wave(0, half, lane());
      exclude(TileLogits<kKeyTiles>{s, half, lane()}, first_key(problem, block, row) - first_key_of_tile,
              end_key(problem, block, row) - first_key_of_tile);
    }
  }
  DEVICE_MEMBER Block block_of(const Work& work) const { return work.block(a_.forward.problem); }
  DEVICE int first_key_of(const Work& work, int place) { return (work.first_tile + place) * kKeys; }

  // The problem's options on scores.
  DEVICE_MEMBER void change_scores(Scores& s, int place) const {
    Problem& p = a_.forward.problem;
    float scale = p.scale;
    if (p.softcap > 0) {
      cap<false>(s, scale, p.softcap, options_.softcap);
      scale = 1;
    }
    if (p.alibi.data != nullptr) {
      const Work& work = shared_.work(queries());
      const int row = work.first_row + warp_row(group_) + lane() / 4 + block_of(work).diagonal;
      const int distance = first_key_of(work, place) + 2 * (lane() % 4) - row;
      if (options_.last_keys_first) add_slopes_to_diagonal(s, scale, work.slope, distance);
      else add_slopes(s, scale, work.slope, distance);
      scale = 1;
    }
    if (options_.bias.boxes > 0)
      with_tile(0, [&](const PanelsOfScores& t) {
        t.template add_bias<T>(s, scale, options_.bias, warp_row(group_), lane());
      });
    if (options_.mask.boxes > 0)
      with_tile(options_.bias.boxes > 0,
                [&](const PanelsOfScores& t) { t.apply_mask(s, options_.mask, warp_row(group_), lane()); });
  }
  // read(tile) of the bias or mask of the last keys: which of the two, if there are two.
  template <class Read>
  DEVICE_MEMBER void with_tile(int which, const Read& read) const {
    const uint32_t n = (keys() - 1) * tiles_of_scores(options_) + which;
    shared_.score_ring().wait_until_full(n);
    read(shared_.scores(RingK::stage(n)));
    wave_barrier();  // all lanes have read
    shared_.score_ring().give_back(n, lane() == 0);
  }

  // Stores the last tile's rows. Returns whether one has an Inf or NaN that may come from a key it does not attend.
  DEVICE_MEMBER bool store(const Outputs& o) const {
    const Work& work = shared_.work(queries() - 1);
    const bool again = store_rows(a_.forward, softmax_, options_.unit, work, work.first_row + warp_row(group_), o);
    wave_barrier();
    shared_.work_ring().give_back(queries() - 1, lane() == 0);
    return any_lane(again);
  }

  Args& a_;
  Options& options_;
  const Shared shared_;
  const int group_;
  RunningSoftmax<T, kKeyTiles, kScores> softmax_;
  Kept kept_;                          // of dropout, from the exponentials to P's rounding
  int tiles_, full_begin_, full_end_;  // of Work, of this tile of queries
  // Tiles of queries so far, and tiles of K given back so far. V's are one behind. Both are modulo 2^16: their rings
  // and places look at the lowest bits.
  uint32_t counts_ = 0;
};

template <class Tile>
DEVICE void run_tiles(AllArgs& arguments, char* memory) {
  const typename Tile::Shared shared = {memory, shared_address(memory)};
  const int group = __shfl_sync(~0u, thread_id() / kGroupThreads, 0);
  if (thread_id() == 0) {
    prefetch_map(arguments.all.q);
    prefetch_map(arguments.all.k);
    prefetch_map(arguments.all.v);
    shared.work_ring().init(4 * kGroups);  // each warp gives back
    shared.q_ring().init(kGroups);
    shared.k_ring().init(kGroups);
    shared.v_ring().init(kGroups);
    if constexpr (kScores) shared.score_ring().init(4 * kGroups);
    publish_barriers();
  }
  wait_for_previous();
  if (kScores && thread_id() == 0) shared.dropout() = DropoutSeed::of(arguments.all.forward.problem);
  barrier();
  let_next_start();
  const auto turns = [&] { return Turns(arguments.all.turns, workgroup_id(), workgroups()); };
  if (group == 0) {
    give_up_registers<kFeederRegisters>();
    if (thread_id() == kWave) return Finder<Tile, Turns>(arguments, shared, turns()).run();
    if (thread_id() == 0) Feeder<Tile>(arguments, shared).run();
  } else {
    take_registers<kRegisters>();
    if (thread_id() % kWave == 0) shared.again() = 0;
    // Dropout has a loop of its own: a branch in one loop for both would make other problems slower.
    if (kScores && has_dropout(arguments.all.forward.problem)) {
      int own = group;
      asm volatile("// dropout" : "+r"(own));  // else what both loops begin with would keep registers
      Group<Tile, kScores>(arguments, shared, own - 1).run();
    } else {
      Group<Tile, false>(arguments, shared, group - 1).run();
    }
    wave_barrier();
    if (shared.again() != 0)
      run_again<T, kRows, kAgainDims, kScores>(arguments, warp_row(thread_id() / kGroupThreads - 1), turns());
  }
}

}  // namespace rapt::nvidia

KERNEL(rapt::nvidia::kThreads, rapt::nvidia::kResident)
RAPT_SYMBOL(const __grid_constant__ rapt_hopper_forward_scores_args arguments) {
  using namespace rapt::nvidia;
  extern __shared__ __align__(1024) char memory[];
  if constexpr (kHasNarrow)
    if (arguments.all.narrow) return run_tiles<Narrow>(arguments, memory);
  if constexpr (kSlices) {
    if (arguments.slices.count > 0 && arguments.slices.keys == RAPT_SLICE_KEYS)
      return run_slices<RAPT_SLICE_KEYS>(arguments, memory);
    if (arguments.slices.count > 0) return run_slices<RAPT_BLOCK_K>(arguments, memory);
  }
  run_tiles<Widest>(arguments, memory);
}
