// Forward attention on the CPU: dividing a call into work items, and running each. How a row is summed depends on the
// problem, never on the number of threads, so results are bitwise equal for any executor. Only the number of rows in an
// item depends on the threads: a group of lanes has the same bits in any block (forward_tile.hpp).
#pragma once

#include "base/parallel.hpp"
#include "cpu/tiers/announce.hpp"
#include "cpu/tiers/combine.hpp"
#include "cpu/tiers/decode.hpp"
#include "problem/with_type.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kWantedItems = 64;
inline constexpr int64_t kLeastSplitKeys = 2048;  // of the tile kernel, because every split repeats its fixed costs
inline constexpr int64_t kLeastSplitKeysDecode = 1024;
// Items for each thread, so that no thread waits long for the last item: more for a causal problem, whose items have
// unequal lengths. An item has a least number of queries, because each repeats the work done once per block of keys.
inline constexpr int64_t kItemsPerThread = 2, kCausalItemsPerThread = 4, kLeastQueries = 64;

inline bool is_decode(const Problem& p) { return p.group() * p.seqlen_q <= kDecodeRows; }

struct ForwardCut {
  bool decode;
  QueryRows rows;              // first_head is filled in for each item
  int64_t batch, head_groups;  // head_groups: items along heads
  int64_t block, blocks, splits;
  bool longest_first;  // over all heads; otherwise heads come one by one, and each reads its own K and V
  int64_t late = 0;    // items at the end that are handed out in pieces of kLeastQueries

  ForwardCut(const ForwardCall& call, int32_t concurrency) {
    const int64_t group = call.group();
    decode = is_decode(call);
    const bool share = group > 1 && call.seqlen_q < forward_queries(call);
    rows = {0, decode ? group * decode_heads(call) : share ? group : 1};
    batch = call.batch;
    head_groups = call.heads_q / rows.heads;
    block = decode ? kDecodeRows * decode_heads(call) : forward_queries(call);
    const int64_t all_rows = call.seqlen_q * rows.heads, least = decode ? kLeastSplitKeysDecode : kLeastSplitKeys;
    blocks = (all_rows + block - 1) / block;
    splits = std::clamp<int64_t>(kWantedItems / std::max<int64_t>(call.batch * head_groups * blocks, 1), 1,
                                 std::max<int64_t>(call.seqlen_k / least, 1));
    const int64_t each = call.window_right < 0 ? kItemsPerThread : kCausalItemsPerThread,
                  wanted = concurrency > 1 ? each * concurrency : 0;
    // Blocks that are large only to save conversions of K and V must leave twice as many items.
    const bool wide = widens(call) && widest_head(call) > 64;
    const auto few = [&] { return items() < (wide && block > 128 ? 2 : 1) * wanted; };
    while (!decode && block > kLeastQueries && few()) {
      block /= 2;
      blocks = (all_rows + block - 1) / block;
    }
    longest_first = items() <= 2 * wanted;
    if (concurrency >= kManyThreads && !decode && splits == 1 && items() >= 2 * concurrency) late = concurrency;
  }

  int64_t items() const { return batch * head_groups * blocks * splits; }
  int64_t late_pieces() const { return block / kLeastQueries; }
  int64_t pieces() const { return items() + late * (late_pieces() - 1); }
};

struct ForwardItem {
  int64_t batch, head_group, block, split;
  int64_t first, rows;  // of the head group

  // Whole items come first, then the late ones' pieces.
  ForwardItem(const ForwardCut& cut, int64_t piece) {
    const int64_t whole = cut.items() - cut.late, late = piece - whole;
    int64_t item = late < 0 ? piece : whole + late / cut.late_pieces();
    split = item % cut.splits;
    item /= cut.splits;
    const int64_t all_heads = cut.batch * cut.head_groups;
    // if causal, the last block is the longest
    block = cut.blocks - 1 - (cut.longest_first ? item / all_heads : item % cut.blocks);
    const int64_t head = cut.longest_first ? item % all_heads : item / cut.blocks;
    head_group = head % cut.head_groups;
    batch = head / cut.head_groups;
    first = block * cut.block;
    rows = cut.block;
    if (late < 0) return;
    first += late % cut.late_pieces() * kLeastQueries;
    rows = kLeastQueries;
  }
};

struct ForwardMemory {
  size_t per_task = 0, bytes = 0;
  char* tasks = nullptr;
  PartialRows parts;

  ForwardMemory(const ForwardCall& call, const ForwardCut& cut, int32_t concurrency, char* base) {
    Scratch task(nullptr);
    if (cut.decode) DecodeScratch(call, task);
    else ForwardScratch(call, task);
    per_task = task.used();
    Scratch carve(base);
    const rapt_executor width = {0, concurrency, nullptr, nullptr};
    tasks = carve.take<char>(static_cast<int64_t>(per_task) * task_count(width, cut.pieces()));
    if (cut.splits > 1) {
      const int64_t rows = cut.items() * cut.block;
      parts = {carve.take<float>(rows * call.head_dim_v), carve.take<float>(rows), carve.take<float>(rows)};
    }
    bytes = carve.used();
  }

  PartialRows part(const ForwardCut& cut, const Call& call, const ForwardItem& at, int64_t split) const {
    const int64_t row =
        (((at.batch * cut.head_groups + at.head_group) * cut.blocks + at.block) * cut.splits + split) * cut.block;
    return {parts.o + row * call.head_dim_v, parts.m + row, parts.l + row};
  }
};

template <class T>
class Forward {
 public:
  Forward(const ForwardCall& call, char* workspace, int32_t concurrency)
      : call_(call), cut_(call, concurrency), memory_(call, cut_, concurrency, workspace) {}

  // False if dot products may have lost what counts.
  bool run(const rapt_executor& executor) const {
    int32_t lost = 0;
    parallel_items(executor, cut_.pieces(), [&](int64_t task, int64_t piece) {
      if (!attend(task, ForwardItem(cut_, piece))) announce(&lost, 1);
    });
    if (cut_.splits > 1)
      parallel_items(executor, cut_.items() / cut_.splits,
                     [&](int64_t, int64_t item) { combine(ForwardItem(cut_, item * cut_.splits)); });
    return lost == 0;
  }

 private:
  struct Block {
    QueryRows rows;
    int64_t first, n, head_k;
  };

  // False where a shorter sequence of the batch has no such block.
  bool find(const ForwardItem& at, const Sequence& s, Block& b) const {
    b.rows = {at.head_group * cut_.rows.heads, cut_.rows.heads};
    b.head_k = b.rows.first_head / call_.group();
    b.first = at.first;
    b.n = std::min(at.rows, b.rows.rows(s) - b.first);
    return b.n > 0;
  }

  bool attend(int64_t task, const ForwardItem& at) const {
    const Sequence s = sequence(call_, at.batch);
    Block b;
    if (!find(at, s, b)) return true;
    // Splits end on whole key blocks, so that a sequence's splits do not depend on other sequences.
    const int64_t share = ((s.seqlen_k + cut_.splits - 1) / cut_.splits + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
    const int64_t key_first = std::min(at.split * share, s.seqlen_k),
                  key_last = std::min(key_first + share, s.seqlen_k);
    const PartialRows part = cut_.splits > 1 ? memory_.part(cut_, call_, at, at.split) : PartialRows{};
    const PartialRows* partial = cut_.splits > 1 ? &part : nullptr;
    const bool with_sink = call_.sink && at.split == 0;
    Scratch carve(memory_.tasks + task * static_cast<int64_t>(memory_.per_task));
    if (cut_.decode) {
      const DecodeScratch scratch(call_, carve);
      [[maybe_unused]] const TileScope tiles(kDecodeTiles<T, TileRows> && call_.group() * s.seqlen_q >= kLeastTileRows);
      PartialRows of_head;
      return decode<T>(call_, s, b.head_k, b.rows.heads / call_.group(), key_first, key_last, with_sink, scratch,
                       [&](int64_t slot) -> const PartialRows* {
                         if (!partial) return nullptr;
                         const int64_t row = slot * kDecodeRows;
                         of_head = {part.o + row * call_.head_dim_v, part.m + row, part.l + row};
                         return &of_head;
                       });
    } else {
      const ForwardScratch scratch(call_, carve);
      [[maybe_unused]] const TileScope tiles(kBlockDot<T>);
      return ForwardTile<T>(call_, s, b.head_k, scratch)
          .run(b.rows, b.first, b.n, key_first, key_last, with_sink, partial);
    }
  }

  void combine(const ForwardItem& at) const {
    const Sequence s = sequence(call_, at.batch);
    Block b;
    if (!find(at, s, b)) return;
    const PartialRows parts = memory_.part(cut_, call_, at, 0);
    for (int64_t n = 0; n < b.n; ++n) {
      const int64_t i = (b.first + n) / b.rows.heads, of_head = (b.first + n) % b.rows.heads,
                    head = b.rows.first_head + of_head;
      // decode keeps the rows of each key head together
      const int64_t group = call_.group();
      const int64_t r = cut_.decode ? of_head / group * kDecodeRows + i * group + of_head % group : n;
      float* lse = call_.lse ? reinterpret_cast<float*>(call_.lse.data) + lse_offset(call_.lse, s, i, head) : nullptr;
      combine_row(call_, parts, cut_.splits, cut_.block, r, head, call_.head_dim_v,
                  reinterpret_cast<T*>(call_.out.data) + query_offset(call_.out, s, i, head), lse);
    }
  }

  const ForwardCall& call_;
  const ForwardCut cut_;
  const ForwardMemory memory_;
};

inline size_t forward_workspace(const ForwardCall& call, int32_t concurrency) {
  return ForwardMemory(call, ForwardCut(call, concurrency), concurrency, nullptr).bytes;
}

inline bool forward(const ForwardCall& call, const rapt_executor& executor, char* workspace) {
  return with_float_type(call.dtype, [&]<class T>(std::type_identity<T>) {
    return Forward<T>(call, workspace, executor.concurrency).run(executor);
  });
}

inline const char* forward_kernel(const Problem& problem) {
  const bool bf16 = problem.dtype == DType::bf16;
  if (is_decode(problem)) {
    if (bf16 && kHasTiles && problem.group() * problem.seqlen_q >= kLeastTileRows) return "fwd_decode_amx";
    return bf16 && kDecodeDot<Bf16> ? "fwd_decode_dot" : "fwd_decode_fma";
  }
  if (!bf16 || !kBlockDot<Bf16>) return "fwd_tile_fma";
  return kHasTiles ? "fwd_tile_amx" : "fwd_tile_dot";
}

}  // namespace rapt::cpu::RAPT_TIER
