// How a backward pass is divided into items, and the memory that they share. An item owns a range of keys of one key
// head. The number of threads decides how many parts a range has, which changes no bits.
#pragma once

#include <bit>
#include <iterator>

#include "base/parallel.hpp"
#include "cpu/tiers/backward_scratch.hpp"
#include "cpu/tiers/sum_tree.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kPartKeys = kKeyBlock;
// Few threads take ranges of at least this many keys: every range repeats the work done once per block of queries.
inline constexpr int64_t kLongRange = 1024, kMostLongRanges = 8, kWantedBackwardItems = 32;
// With many threads, each of the last items is cut into ever shorter pieces, which end at these 16ths of its queries.
inline constexpr int64_t kLateWhole = 16, kLateEnds[] = {0, 6, 10, 13, 15, kLateWhole},
                         kLatePieces = std::size(kLateEnds) - 1;
inline constexpr int64_t kMostPartialDqBytes = int64_t{128} << 20, kMostSharedBytes = int64_t{64} << 20;

struct BackwardCut {
  bool join_batches, join_heads;  // one item computes all of them
  int64_t batches, heads;
  int64_t range_parts, ranges;  // parts of a range: a power of two
  int64_t slots;                // blocks of queries of one head in all sequences, or a few more
  bool shares;                  // a block's operands are made once for all ranges, not by each range
  bool packs;                   // a range's K and V are made words once, not for each block of queries
  int64_t late = 0;             // items at the end that are handed out in pieces of their queries

  BackwardCut(const BackwardCall& call, int32_t concurrency) {
    join_batches = call.dbias && call.dbias.shape[0] == 1;
    join_heads = call.dbias && call.dbias.shape[1] == 1;
    batches = join_batches ? std::min<int64_t>(call.batch, 1) : call.batch;
    heads = join_heads ? 1 : call.heads_k;
    const int64_t all_heads = std::max<int64_t>(batches * heads, 1);
    // Dot products and tiles are so fast that the fixed cost of a range counts.
    const bool fast = kHasBf16Dot && call.dtype == DType::bf16, many = concurrency >= kManyThreads && !fast;
    // On one thread of a processor with AMX, ranges that exceed its L2 anyhow are longer.
    const int64_t range =
                      kHasTiles && concurrency == 1 && !fast && widest_head(call) > 64 ? 4 * kLongRange : kLongRange,
                  long_ranges = std::clamp<int64_t>(kWantedBackwardItems / all_heads, 1,
                                                    std::clamp<int64_t>(call.seqlen_k / range, 1, kMostLongRanges));
    const bool one = call.dbias && call.dbias.shape[3] == 1;  // all keys' dBias is one sum
    set_ranges(call, one ? 1 : long_ranges);
    const int64_t block = backward_queries(call), blocks = (call.seqlen_q + block - 1) / block;
    slots = call.cu_seqlens_q ? call.total_q / block + call.batch : call.batch * blocks;
    const int64_t dq_bytes = slots * call.heads_q * block * call.head_dim * 4;
    // Fewer items than threads are always cut further. Ranges that are cut anyway are cut further while they are not
    // short, to give threads equal shares: causal items have unequal lengths, and one of many threads is always late.
    const int64_t wanted = (call.window_right < 0 && !many ? 2 : 4) * concurrency,
                  least = many ? kPartKeys : 2 * kPartKeys;
    const auto cut = [&] {
      return items() < concurrency || (ranges > 1 && items() < wanted && range_keys() >= 2 * least);
    };
    while (!one && concurrency > 1 && range_parts > 1 && cut() && 2 * ranges * dq_bytes <= kMostPartialDqBytes)
      set_ranges(call, 2 * ranges);
    while (ranges > 1 && ranges * dq_bytes > kMostPartialDqBytes) set_ranges(call, ranges / 2);
    shares = ranges > 2 && slots * call.heads_q * operand_bytes(call) <= kMostSharedBytes;
    const auto lies = [&](const View& v, int64_t dim) {
      return call.dtype == DType::fp32 && words_in_place<false, float>(call, v, kPartKeys, dim);
    };
    packs = !fast && call.group() * blocks > 1 &&
            ((kHasTiles && many) || !lies(call.k, call.head_dim) || !lies(call.v, call.head_dim_v));
    if (many && !call.dbias && !call.dsink && items() >= 2 * concurrency)
      late = std::min<int64_t>(items(), 2 * concurrency);
  }
  static int64_t operand_bytes(const Call& call) {
    Scratch size(nullptr);
    QueryOperands(call, size);
    return static_cast<int64_t>(size.used());
  }
  // Where the block of queries from `first` on is among all slots of all heads.
  int64_t slot(const Call& call, const Sequence& s, int64_t head, int64_t first) const {
    const int64_t block = backward_queries(call), blocks = (call.seqlen_q + block - 1) / block,
                  before = call.cu_seqlens_q ? s.first_q / block + s.index : s.index * blocks;
    return head * slots + before + first / block;
  }
  int64_t items() const { return batches * heads * ranges; }
  int64_t pieces() const { return items() + late * (kLatePieces - 1); }
  int64_t range_keys() const { return kPartKeys * range_parts; }

 private:
  // At most `most` ranges, of whole subtrees.
  void set_ranges(const Call& call, int64_t most) {
    const int64_t parts = std::max<int64_t>((call.seqlen_k + kPartKeys - 1) / kPartKeys, 1);
    range_parts = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((parts + most - 1) / most)));
    ranges = (parts + range_parts - 1) / range_parts;
  }
};

struct BackwardMemory {
  size_t per_task = 0, bytes = 0;
  char* tasks = nullptr;
  float* partial_dq = nullptr;  // [heads_q * slots][ranges][groups][head_dim][kGroupLanes], not scaled
  char* operands = nullptr;     // QueryOperands of each slot
  char* late_sums = nullptr;    // dK and dV of each late item
  size_t sums_bytes = 0;
  int32_t* announced = nullptr;  // between tasks (announce.hpp), zeros at the start:
  int64_t announced_count = 0;
  int32_t* late_done = nullptr;  // pieces of a late item that are done
  int32_t* next_made = nullptr;  // the next step of a key head whose operands no task has begun to make
  int32_t* made = nullptr;       // operands of a slot
  int32_t* met = nullptr;        // of RangeSums, for each slot
  double* dsink = nullptr;       // [batch][heads_q]
  float* dbias = nullptr;        // compact, the shape of dbias
  int64_t dbias_count = 0;

  BackwardMemory(const BackwardCall& call, const BackwardCut& cut, int32_t concurrency, char* base) {
    Scratch task(nullptr);
    BackwardScratch(call, task);
    SumTree(task, dq_floats(call), cut.range_parts);
    const int64_t keys = std::min(cut.range_keys(), call.seqlen_k);
    const size_t before = task.used();
    task.take<float>(keys * gradient_row(call.head_dim));
    task.take<float>(keys * gradient_row(call.head_dim_v));
    sums_bytes = task.used() - before;
    if (cut.packs) {
      task.take<float>(keys * apart(padded(call.head_dim)));
      task.take<float>(keys * apart(padded(call.head_dim_v)));
    }
    per_task = task.used();
    Scratch carve(base);
    const rapt_executor width = {0, concurrency, nullptr, nullptr};
    tasks = carve.take<char>(static_cast<int64_t>(per_task) * task_count(width, cut.pieces()));
    const int64_t slots = cut.slots * call.heads_q;
    partial_dq = carve.take<float>(cut.ranges > 1 ? slots * cut.ranges * dq_floats(call) : 0);
    if (cut.shares) operands = carve.take<char>(slots * BackwardCut::operand_bytes(call));
    late_sums = carve.take<char>(static_cast<int64_t>(sums_bytes) * cut.late);
    announced_count = cut.late + call.batch * call.heads_k + slots + slots * cut.ranges;
    announced = late_done = carve.take<int32_t>(announced_count);
    if (base) {  // without memory, only the size is wanted
      next_made = late_done + cut.late;
      made = next_made + call.batch * call.heads_k;
      met = made + slots;
    }
    dsink = carve.take<double>(call.batch * call.heads_q);
    if (call.dbias) {
      dbias_count = 1;
      for (int64_t size : call.dbias.shape) dbias_count *= size;
      dbias = carve.take<float>(dbias_count);
    }
    bytes = carve.used();
  }
  static int64_t dq_floats(const Call& call) { return backward_queries(call) * call.head_dim; }
};

}  // namespace rapt::cpu::RAPT_TIER
