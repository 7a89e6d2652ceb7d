// Backward attention on the CPU: work items and the sums over them. An item owns a range of keys of one key head and
// its dK and dV; dQ of several ranges is summed afterwards, as the tree of sums over parts (sum_tree.hpp) that depends
// on the problem alone. The number of threads decides how many parts a range has, which changes no bits. If dBias is
// shared by batches or heads, one item computes them all, so it is summed in fixed order too.
#pragma once

#include <bit>

#include "base/parallel.hpp"
#include "cpu/tiers/backward_tile.hpp"
#include "cpu/tiers/sum_tree.hpp"
#include "problem/with_type.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kPartKeys = kKeyBlock;
// Ranges of this many keys and more are for few threads: every range repeats what is done once per block of queries.
inline constexpr int64_t kLongRange = 1024, kMostLongRanges = 8, kWantedBackwardItems = 32;
inline constexpr int64_t kManyThreads = 8;
inline constexpr int64_t kMostPartialDqBytes = int64_t{128} << 20, kMostSharedBytes = int64_t{64} << 20;

struct BackwardCut {
  bool join_batches, join_heads;  // one item computes all of them
  int64_t batches, heads;
  int64_t range_parts, ranges;  // parts of a range: a power of two
  int64_t slots;                // blocks of queries of one head in all sequences, or a few more
  bool shares;                  // the operands that several ranges make of a block of queries are made once

  BackwardCut(const BackwardCall& call, int32_t concurrency) {
    join_batches = call.dbias && call.dbias.shape[0] == 1;
    join_heads = call.dbias && call.dbias.shape[1] == 1;
    batches = join_batches ? std::min<int64_t>(call.batch, 1) : call.batch;
    heads = join_heads ? 1 : call.heads_k;
    const int64_t all_heads = std::max<int64_t>(batches * heads, 1);
    const int64_t long_ranges = std::clamp<int64_t>(
        kWantedBackwardItems / all_heads, 1, std::clamp<int64_t>(call.seqlen_k / kLongRange, 1, kMostLongRanges));
    const bool one = call.dbias && call.dbias.shape[3] == 1;  // all keys' dBias is one sum
    set_ranges(call, one ? 1 : long_ranges);
    const int64_t block = backward_queries(call), blocks = (call.seqlen_q + block - 1) / block;
    slots = call.cu_seqlens_q ? call.total_q / block + call.batch : call.batch * blocks;
    const int64_t dq_bytes = slots * call.heads_q * block * call.head_dim * 4;
    // Fewer items than threads are cut in any case; for equal shares (causal items have unequal lengths, and one of
    // many threads is always late) ranges that are cut anyway, while they are not short. Dot products and tiles take so
    // little time that what a range costs by itself counts.
    const bool fast = kHasBf16Dot && call.dtype == DType::bf16, many = concurrency >= kManyThreads && !fast;
    const int64_t wanted = (call.window_right < 0 && !many ? 2 : 4) * concurrency,
                  least = many ? kPartKeys : 2 * kPartKeys;
    const auto cut = [&] {
      return items() < concurrency || (ranges > 1 && items() < wanted && range_keys() >= 2 * least);
    };
    while (!one && concurrency > 1 && range_parts > 1 && cut() && 2 * ranges * dq_bytes <= kMostPartialDqBytes)
      set_ranges(call, 2 * ranges);
    while (ranges > 1 && ranges * dq_bytes > kMostPartialDqBytes) set_ranges(call, ranges / 2);
    shares = ranges > 2 && slots * call.heads_q * operand_bytes(call) <= kMostSharedBytes;
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
  int64_t range_keys() const { return kPartKeys * range_parts; }

 private:
  // At most `most` ranges, of whole subtrees.
  void set_ranges(const Call& call, int64_t most) {
    const int64_t parts = std::max<int64_t>((call.seqlen_k + kPartKeys - 1) / kPartKeys, 1);
    range_parts = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>((parts + most - 1) / most)));
    ranges = (parts + range_parts - 1) / range_parts;
  }
};

// Keys that queries [first, first + n) attend, by causality and window.
struct KeySpan {
  int64_t begin, end = 0;
  KeySpan(const Call& call, const Sequence& s, int64_t first, int64_t n) : begin(s.seqlen_k) {
    for (int64_t i = first; i < first + n; ++i) {
      const int64_t from = s.key_begin(call, i), to = s.key_end(call, i);
      if (from >= to) continue;
      begin = std::min(begin, from);
      end = std::max(end, to);
    }
  }
};

struct BackwardMemory {
  size_t per_task = 0, bytes = 0;
  char* tasks = nullptr;
  float* partial_dq = nullptr;  // [ranges][slots][groups][head_dim][kGroupLanes], not scaled
  char* operands = nullptr;     // QueryOperands of each slot
  double* dsink = nullptr;      // [batch][heads_q]
  float* dbias = nullptr;       // compact, the shape of dbias
  int64_t dbias_count = 0;

  BackwardMemory(const BackwardCall& call, const BackwardCut& cut, int32_t concurrency, char* base) {
    Scratch task(nullptr);
    BackwardScratch(call, task);
    SumTree(task, dq_floats(call), cut.range_parts);
    const int64_t keys = std::min(cut.range_keys(), call.seqlen_k);
    task.take<float>(keys * gradient_row(call.head_dim));
    task.take<float>(keys * gradient_row(call.head_dim_v));
    per_task = task.used();
    Scratch carve(base);
    const rapt_executor width = {0, concurrency, nullptr, nullptr};
    tasks = carve.take<char>(static_cast<int64_t>(per_task) *
                             task_count(width, std::max(cut.items(), cut.shares ? blocks(call) : 0)));
    if (cut.ranges > 1) partial_dq = carve.take<float>(cut.ranges * cut.slots * call.heads_q * dq_floats(call));
    if (cut.shares) operands = carve.take<char>(cut.slots * call.heads_q * BackwardCut::operand_bytes(call));
    dsink = carve.take<double>(call.batch * call.heads_q);
    if (call.dbias) {
      dbias_count = 1;
      for (int64_t size : call.dbias.shape) dbias_count *= size;
      dbias = carve.take<float>(dbias_count);
    }
    bytes = carve.used();
  }
  static int64_t dq_floats(const Call& call) { return backward_queries(call) * call.head_dim; }
  static int64_t blocks(const Call& call) {
    return call.batch * call.heads_q * ((call.seqlen_q + backward_queries(call) - 1) / backward_queries(call));
  }
};

template <class T>
class Backward {
 public:
  Backward(const BackwardCall& call, char* workspace, int32_t concurrency)
      : call_(call), cut_(call, concurrency), memory_(call, cut_, concurrency, workspace) {}

  void run(const rapt_executor& executor) const {
    std::fill(memory_.dbias, memory_.dbias + memory_.dbias_count, 0.f);
    const auto for_blocks = [&](const auto& body) {
      const int64_t blocks = (call_.seqlen_q + block_ - 1) / block_;
      parallel_items(executor, BackwardMemory::blocks(call_), [&](int64_t task, int64_t i) {
        const Sequence s = sequence(call_, i / blocks / call_.heads_q);
        const int64_t first = i % blocks * block_, n = std::min(block_, s.seqlen_q - first);
        if (n > 0) body(task, s, QueryBlock{i / blocks % call_.heads_q, first, n});
      });
    };
    if (cut_.shares)
      for_blocks([&](int64_t task, const Sequence& s, const QueryBlock& q) { make_operands(task, s, q); });
    parallel_items(executor, cut_.items(), [&](int64_t task, int64_t item) { item_step(task, item); });
    if (cut_.ranges > 1 && call_.dq) for_blocks([&](int64_t, const Sequence& s, const QueryBlock& q) { sum_dq(s, q); });
    if (call_.dsink) write_dsink();
    if (call_.dbias) write_dbias();
  }

 private:
  struct QueryBlock {
    int64_t head, first, n;
  };

  Scratch task_memory(int64_t task) const {
    return Scratch(memory_.tasks + task * static_cast<int64_t>(memory_.per_task));
  }
  QueryOperands shared_operands(const Sequence& s, const QueryBlock& q) const {
    Scratch carve(memory_.operands + cut_.slot(call_, s, q.head, q.first) * BackwardCut::operand_bytes(call_));
    return {call_, carve};
  }
  void make_operands(int64_t task, const Sequence& s, const QueryBlock& q) const {
    Scratch carve = task_memory(task);
    const BackwardScratch scratch(call_, carve);
    [[maybe_unused]] const TileScope tiles(kBlockDot<T>);
    // other cores have read what was there before: their copies are dropped many at a time
    const QueryOperands operands = shared_operands(s, q);
    for (int64_t x = 0; x < BackwardCut::operand_bytes(call_) / 4; x += 16) prefetch_for_writing(operands.q_lanes + x);
    const BackwardSums none = {};
    BackwardTile<T>(call_, s, q.head / call_.group(), scratch, none).begin(q.head, q.first, q.n, operands, true);
  }

  void item_step(int64_t task, int64_t item) const {
    // of a causal problem, the longest first
    const int64_t all_heads = cut_.batches * cut_.heads, range = item / all_heads, head = item % cut_.heads,
                  batch = item % all_heads / cut_.heads;
    const int64_t batch_end = cut_.join_batches ? call_.batch : batch + 1,
                  head_end = cut_.join_heads ? call_.heads_k : head + 1;
    for (int64_t b = batch; b < batch_end; ++b)
      for (int64_t h = head; h < head_end; ++h) key_head(task, b, h, range);
  }

  // All gradients of one key head that come from one range of its keys.
  void key_head(int64_t task, int64_t b, int64_t head_k, int64_t range) const {
    const Sequence s = sequence(call_, b);
    const int64_t first = std::min(range * cut_.range_keys(), s.seqlen_k),
                  last = std::min(first + cut_.range_keys(), s.seqlen_k);
    if (range > 0 && first == last) return;
    Scratch carve = task_memory(task);
    const BackwardScratch scratch(call_, carve);
    SumTree dq(carve, BackwardMemory::dq_floats(call_), cut_.range_parts);
    const int64_t row = gradient_row(call_.head_dim), row_v = gradient_row(call_.head_dim_v);
    BackwardSums sums = {carve.take<float>((last - first) * row), carve.take<float>((last - first) * row_v), first};
    std::fill(sums.dk, sums.dk + (last - first) * row, 0.f);
    std::fill(sums.dv, sums.dv + (last - first) * row_v, 0.f);
    add_dbias_strides(sums);
    [[maybe_unused]] const TileScope tiles(kBlockDot<T>);
    BackwardTile<T> tile(call_, s, head_k, scratch, sums);
    for (int64_t head = head_k * call_.group(); head < (head_k + 1) * call_.group(); ++head) {
      double sink = 0;
      for (int64_t i = 0; i < s.seqlen_q; i += block_) {
        const int64_t n = std::min(block_, s.seqlen_q - i);
        const bool sinks = call_.dsink && range == 0;
        const QueryBlock q = {head, i, n};
        const QueryOperands operands = cut_.shares ? shared_operands(s, q) : scratch.queries;
        const bool attended = add_block(tile, dq, s, q, operands, first, last, sinks);
        if (call_.dq && !attended && cut_.ranges == 1) write_zeros(s, head, i, n);
        if (sinks) sink += tile.sink_sum(read_float(call_.sink.data, call_.sink.dtype, head * call_.sink.head));
      }
      if (call_.dsink && range == 0) memory_.dsink[b * call_.heads_q + head] = sink;
    }
    write_key_rows(call_.dk, s, head_k, sums.dk, first, last, call_.head_dim, static_cast<float>(call_.scale));
    write_key_rows(call_.dv, s, head_k, sums.dv, first, last, call_.head_dim_v, 1.f);
  }

  // A block of queries against those of keys [first, last) that it attends; false if there are none.
  bool add_block(BackwardTile<T>& tile, SumTree& dq, const Sequence& s, const QueryBlock& q,
                 const QueryOperands& operands, int64_t first, int64_t last, bool always_begin) const {
    const KeySpan span(call_, s, q.first, q.n);
    const int64_t from = std::max(span.begin, first), to = std::min(span.end, last);
    if (from < to || always_begin) tile.begin(q.head, q.first, q.n, operands, !cut_.shares);
    if (from >= to) return false;
    dq.begin();
    for (int64_t part = (from - first) / kPartKeys; first + part * kPartKeys < to; ++part) {
      const int64_t low = first + part * kPartKeys;
      tile.keys(std::max(from, low), std::min(to, low + kPartKeys), dq.next(part));
      dq.end_part(part);
    }
    if (!call_.dq) return true;
    if (cut_.ranges == 1) {
      write_dq(dq.total(), s, q);
    } else {
      const size_t bytes = static_cast<size_t>(lane_floats(q)) * sizeof(float);
      std::memcpy(partial(s, q, first / cut_.range_keys()), dq.total(), bytes);
    }
    return true;
  }

  // Floats of dQ^T [groups][head_dim][kGroupLanes] of a block.
  int64_t lane_floats(const QueryBlock& q) const {
    return (q.n + kGroupLanes - 1) / kGroupLanes * kGroupLanes * call_.head_dim;
  }
  float* partial(const Sequence& s, const QueryBlock& q, int64_t range) const {
    return memory_.partial_dq + (range * cut_.slots * call_.heads_q + cut_.slot(call_, s, q.head, q.first)) *
                                    BackwardMemory::dq_floats(call_);
  }
  void write_dq(const float* dq, const Sequence& s, const QueryBlock& q) const {
    const F scale = splat(static_cast<float>(call_.scale));
    for (int64_t at = 0; at < q.n; at += kLanes) {
      T* row[kLanes];
      for (int i = 0; i < kLanes; ++i) row[i] = at + i < q.n ? dq_row(s, q.head, q.first + at + i) : nullptr;
      const int64_t group = at / kGroupLanes;
      untranspose_rows(dq + group * call_.head_dim * kGroupLanes + at % kGroupLanes, kGroupLanes, scale, call_.head_dim,
                       row);
    }
  }

  void write_zeros(const Sequence& s, int64_t head, int64_t first, int64_t n) const {
    for (int64_t i = first; i < first + n; ++i)
      for (int64_t x = 0; x < call_.head_dim; x += kLanes) store_elements(dq_row(s, head, i), x, call_.head_dim, F{});
  }

  void add_dbias_strides(BackwardSums& sums) const {
    if (!call_.dbias) return;
    const int64_t* n = call_.dbias.shape;
    sums.dbias = memory_.dbias;
    sums.dbias_key = n[3] == 1 ? 0 : 1;
    sums.dbias_query = n[2] == 1 ? 0 : n[3];
    sums.dbias_head = n[1] == 1 ? 0 : n[2] * n[3];
    sums.dbias_batch = n[0] == 1 ? 0 : n[1] * n[2] * n[3];
  }

  T* dq_row(const Sequence& s, int64_t head, int64_t i) const {
    return reinterpret_cast<T*>(call_.dq.data) + query_offset(call_.dq, s, i, head);
  }

  // The sum of all ranges; it takes the place of the first one's.
  void sum_dq(const Sequence& s, const QueryBlock& q) const {
    const KeySpan span(call_, s, q.first, q.n);
    if (span.begin >= span.end) return write_zeros(s, q.head, q.first, q.n);
    const int64_t from = span.begin / cut_.range_keys(), to = (span.end - 1) / cut_.range_keys();
    float* sums = partial(s, q, from);
    const int64_t next = cut_.slots * call_.heads_q * BackwardMemory::dq_floats(call_);
    struct Vector {
      F value;
    };
    Climb<Vector> climb;
    for (int64_t x = 0; x < lane_floats(q); x += kLanes) {
      climb.begin();
      for (int64_t range = from; range <= to; ++range) {
        Vector sum = {load(sums + (range - from) * next + x)};
        climb.lefts(range, [&](const Vector& left) { sum.value = left.value + sum.value; });
        climb.wait(range, sum);
      }
      F total = F{};
      bool any = false;
      climb.rest([&](const Vector& left) {
        total = any ? left.value + total : left.value;
        any = true;
      });
      store(sums + x, total);
    }
    write_dq(sums, s, q);
  }

  void write_key_rows(const View& to, const Sequence& s, int64_t head_k, const float* from, int64_t first, int64_t last,
                      int64_t dim, float factor) const {
    if (!to) return;
    for (int64_t j = first; j < last; ++j) {
      T* row = reinterpret_cast<T*>(to.data) + key_offset(call_, to, s, j, head_k);
      for (int64_t x = 0; x < dim; x += kLanes)
        store_elements(row, x, dim, load(from + (j - first) * gradient_row(dim) + x) * splat(factor));
    }
  }

  static void write_float(char* data, DType dtype, int64_t i, float value) {
    with_float_type(dtype, [&]<class E>(std::type_identity<E>) { reinterpret_cast<E*>(data)[i] = E(value); });
  }

  void write_dsink() const {
    for (int64_t head = 0; head < call_.heads_q; ++head) {
      double total = 0;
      for (int64_t b = 0; b < call_.batch; ++b) total += memory_.dsink[b * call_.heads_q + head];
      write_float(call_.dsink.data, call_.dsink.dtype, head * call_.dsink.head, static_cast<float>(-total));
    }
  }

  void write_dbias() const {
    const int64_t* n = call_.dbias.shape;
    const float* from = memory_.dbias;
    for (int64_t b = 0; b < n[0]; ++b)
      for (int64_t h = 0; h < n[1]; ++h)
        for (int64_t i = 0; i < n[2]; ++i)
          for (int64_t j = 0; j < n[3]; ++j) {
            const ScoreView& to = call_.dbias;
            write_float(to.data, to.dtype, b * to.batch + h * to.head + i * to.query + j * to.key, *from++);
          }
  }

  const BackwardCall& call_;
  const int64_t block_ = backward_queries(call_);
  const BackwardCut cut_;
  const BackwardMemory memory_;
};

inline size_t backward_workspace(const BackwardCall& call, int32_t concurrency) {
  return BackwardMemory(call, BackwardCut(call, concurrency), concurrency, nullptr).bytes;
}

inline void backward(const BackwardCall& call, const rapt_executor& executor, char* workspace) {
  with_float_type(call.dtype, [&]<class T>(std::type_identity<T>) {
    Backward<T>(call, workspace, executor.concurrency).run(executor);
  });
}

inline const char* backward_kernel(const Problem& problem) {
  if (problem.dtype != DType::bf16 || !kBlockDot<Bf16>) return "bwd_tile_fma";
  return kHasTiles ? "bwd_tile_amx" : "bwd_tile_dot";
}

}  // namespace rapt::cpu::RAPT_TIER
