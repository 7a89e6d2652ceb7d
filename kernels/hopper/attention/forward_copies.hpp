// The threads of the forward kernel that do not compute: one finds tiles of queries, another one copies.
#pragma once

#include "kernels/hopper/attention/cached_keys.hpp"
#include "kernels/hopper/attention/forward_shared.hpp"
#include "kernels/hopper/attention/slices.hpp"

namespace rapt::nvidia {

using AllArgs = const rapt_hopper_forward_scores_args;
using Args = const rapt_hopper_forward_args;
using Options = const rapt_hopper_scores;

// Tiles of a bias and a mask, for each tile of keys.
DEVICE uint32_t tiles_of_scores(Options& o) { return (o.bias.boxes > 0) + (o.mask.boxes > 0); }
// The place of the i-th tile of keys, of `tiles`.
DEVICE int place_of(Options& o, int i, int tiles) { return kScores && o.last_keys_first ? tiles - 1 - i : i; }

// The finding thread: which tiles of queries the workgroup computes takes long to find, so it runs ahead.
template <class Tile, class Turns>
class Finder {
  using Shared = typename Tile::Shared;
  static constexpr int kKeys = Tile::kKeys;
  static constexpr bool kCaches = Tile::kCaches;

 public:
  DEVICE_MEMBER Finder(AllArgs& a, const Shared& shared, const Turns& turns)
      : a_(a.all), cache_(a.cache), shared_(shared), turns_(turns) {}

  DEVICE_MEMBER void run() {
    bool more = true;
    uint32_t n = 0;
#pragma unroll 1
    for (; more; ++n) {
      shared_.work_ring().wait_until_empty(n);
      more = find(shared_.work(n), n);
      shared_.found_ring().full(n).arrive();
    }
#pragma unroll 1
    for (int i = 1; i < Tile::kReaders; ++i, ++n) {  // each is told that there is nothing more
      shared_.work_ring().wait_until_empty(n);
      shared_.work(n).tiles = 0;
      shared_.found_ring().full(n).arrive();
    }
  }

 private:
  DEVICE_MEMBER bool find(Work& work, uint32_t n) {
    const rapt_forward_args& a = a_.forward;
    Problem& p = a.problem;
    Block block = turns_.next_block(p, Tile::kWorkRows);
    work.tiles = 0;
    if (block.head < 0) return false;
    if (kCaches && has_cache(cache_)) block = with_cached_keys(cache_, p, block);
    const Keys keys = keys_of(p, block, block.first_row, Tile::kWorkRows);
    work.first_tile = keys.begin / kKeys;
    work.tiles = max((keys.end + kKeys - 1) / kKeys - work.first_tile, 1);  // rows without keys look at one tile
    work.full_begin = (keys.full_begin + kKeys - 1) / kKeys - work.first_tile;
    work.full_end = keys.full_end / kKeys - work.first_tile;
    work.first_row = block.first_row;
    work.q = block.q;
    work.k = block.k;
    work.head = block.head;
    work.batch = block.batch;
    work.head_k = block.head / p.group;
    work.batch_k = p.cu_seqlens_k != nullptr ? 0 : kCaches ? cache_row(cache_, block.batch) : block.batch;
    work.out = first_row_of(a.out, block.batch, block.q, block.head);
    work.lse = lse_of(a, block);
    if constexpr (kScores) work.slope = slope_of(p, block.head, block.batch);
    if constexpr (Turns::kSlices) work.copied = turns_.copied(n);
    return true;
  }
  DEVICE float* lse_of(const rapt_forward_args& a, const Block& b) {
    if (a.lse.data == nullptr) return nullptr;
    char* const head = reinterpret_cast<char*>(a.lse.data) + b.batch * a.lse.batch + b.head * a.lse.head;
    return reinterpret_cast<float*>(head + b.q.first * a.lse.query);
  }

  Args& a_;
  Cache& cache_;
  const Shared shared_;
  Turns turns_;
};

// The feeding thread.
template <class Tile>
class Feeder {
  using Shared = typename Tile::Shared;
  using PanelsK = typename Tile::PanelsK;
  using PanelsQ = typename Tile::PanelsQ;
  using RingK = typename Tile::RingK;
  using RingQ = typename Tile::RingQ;
  static constexpr int kKeys = Tile::kKeys, kQueryStages = Tile::kQueryStages;
  static constexpr bool kCaches = Tile::kCaches;

 public:
  DEVICE_MEMBER Feeder(AllArgs& a, const Shared& shared)
      : a_(a.all), options_(a.scores), cache_(a.cache), shared_(shared) {}

  DEVICE_MEMBER void run() {
    uint32_t n = 0;
    if constexpr (kQueryStages > 1) load_q(n);
#pragma unroll 1
    for (; tiles_of(n) > 0; ++n) {
      const Work& work = shared_.work(n);  // registers would hold only a part
      const int tiles = work.tiles;
      const auto key_of = [&](int i) { return (work.first_tile + place_of(options_, i, tiles)) * kKeys; };
      // K is a tile ahead of V. Where the next tile is, is asked for before a tile is waited for.
      const auto tile = [&](int i) { return tile_of(work, key_of(i)); };
      KeyTile of_k = tile(0), of_v = of_k;
#pragma unroll 1
      for (int i = 0; i <= tiles; ++i) {
        const KeyTile next = kCaches ? tile(i + 1) : of_k;
        if (i < tiles) {
          load(shared_.k_ring(), keys_ + i, shared_.k(RingK::stage(keys_ + i)), a_.k, work, kCaches ? of_k : tile(i));
          if constexpr (kScores) load_scores(work, keys_ + i, key_of(i));
        }
        if (kQueryStages == 1 && i == 0) load_q(n);
        if (i == 0) {
          of_k = next;
          continue;
        }
        load(shared_.v_ring(), keys_ + i - 1, shared_.v(RingK::stage(keys_ + i - 1)), a_.v, work,
             kCaches ? of_v : tile(i - 1));
        if (kQueryStages > 1 && i == 1) load_q(n + 1);
        of_v = of_k;
        of_k = next;
      }
      keys_ += tiles;
    }
    if constexpr (kQueryStages == 1) load_q(n);
  }

 private:
  DEVICE_MEMBER int tiles_of(uint32_t n) const {
    shared_.work_ring().wait_until_full(n);
    return shared_.work(n).tiles;
  }
  // The n-th tile of queries.
  DEVICE_MEMBER void load_q(uint32_t n) const {
    const RingQ ring = shared_.q_ring();
    const bool exists = tiles_of(n) > 0;
    ring.wait_until_empty(n);
    const Work& work = shared_.work(n);
    const PanelsQ q = shared_.q(RingQ::stage(n));
    const int batch = a_.forward.problem.cu_seqlens_q == nullptr ? work.batch : 0;
    if (exists) q.load(a_.q, ring.full(n), work.q.first + work.first_row, work.head, batch);
    else ring.full(n).arrive();
  }
  DEVICE_MEMBER KeyTile tile_of(const Work& work, int key) const {
    if (!kCaches || cache_.block_table == nullptr) return {work.k.first + key, work.batch_k};
    const Page page = page_of(cache_, a_.forward.problem, work.batch, key);
    return {key - page.first_row, page.page};
  }
  DEVICE_MEMBER void load(const RingK& ring, uint32_t n, const PanelsK& panels, TensorMap& map, const Work& work,
                          const KeyTile& tile) const {
    ring.wait_until_empty(n);
    panels.load(map, ring.full(n), tile.row, work.head_k, tile.batch);
  }
  // The bias and mask of the n-th fill of K.
  DEVICE_MEMBER void load_scores(const Work& work, uint32_t n, int key) const {
    uint32_t fill = n * tiles_of_scores(options_);
    for (const rapt_hopper_score_tiles* const t : {&options_.bias, &options_.mask}) {
      if (t->boxes == 0) continue;
      shared_.score_ring().wait_until_empty(fill);
      shared_.scores(RingK::stage(fill))
          .load(*t, shared_.score_ring().full(fill), {key, work.first_row, work.head, work.batch});
      ++fill;
    }
  }

  Args& a_;
  Options& options_;
  Cache& cache_;
  const Shared shared_;
  uint32_t keys_ = 0;  // fills of K by earlier tiles of queries
};

}  // namespace rapt::nvidia
