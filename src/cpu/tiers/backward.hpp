// Backward attention on the CPU: work items (backward_cut.hpp) and the sums over them. An item computes dK and dV of
// its range of keys. The items also add up dQ of all ranges (range_sums.hpp), along a tree of sums over parts
// (sum_tree.hpp) that depends on the problem alone. If batches or heads share dBias, one item computes them all, so
// that dBias is summed in fixed order too.
#pragma once

#include "cpu/tiers/backward_cut.hpp"
#include "cpu/tiers/backward_tile.hpp"
#include "cpu/tiers/range_sums.hpp"
#include "problem/with_type.hpp"

namespace rapt::cpu::RAPT_TIER {

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

template <class T>
class Backward {
 public:
  Backward(const BackwardCall& call, char* workspace, int32_t concurrency)
      : call_(call), cut_(call, concurrency), memory_(call, cut_, concurrency, workspace) {}

  // False if dot products may have lost what counts.
  bool run(const rapt_executor& executor) const {
    int32_t lost = 0;
    std::fill(memory_.dbias, memory_.dbias + memory_.dbias_count, 0.f);
    if (call_.dsink) std::fill(memory_.dsink, memory_.dsink + call_.batch * call_.heads_q, 0.0);
    std::fill(memory_.announced, memory_.announced + memory_.announced_count, 0);
    parallel_items(executor, cut_.pieces(), [&](int64_t task, int64_t piece) { piece_step(task, piece, &lost); });
    if (call_.dsink) write_dsink();
    if (call_.dbias) write_dbias();
    return lost == 0;
  }

 private:
  // One of the steps of a key head: its blocks of queries, one query head after the other.
  struct QueryBlock {
    int64_t step, head, first, n;
  };
  int64_t blocks(const Sequence& s) const { return (s.seqlen_q + block_ - 1) / block_; }
  int64_t steps(const Sequence& s) const { return call_.group() * blocks(s); }
  QueryBlock query_block(const Sequence& s, int64_t head_k, int64_t step) const {
    const int64_t first = step % blocks(s) * block_;
    return {step, head_k * call_.group() + step / blocks(s), first, std::min(block_, s.seqlen_q - first)};
  }
  int64_t slot(const Sequence& s, const QueryBlock& q) const { return cut_.slot(call_, s, q.head, q.first); }

  Scratch task_memory(int64_t task) const {
    return Scratch(memory_.tasks + task * static_cast<int64_t>(memory_.per_task));
  }
  QueryOperands shared_operands(const Sequence& s, const QueryBlock& q) const {
    Scratch carve(memory_.operands + slot(s, q) * BackwardCut::operand_bytes(call_));
    return {call_, carve};
  }
  // Ranges share the operands of a block of queries. The first task to reach a block makes its operands and the next
  // block's, so that other tasks need not wait. It makes no more at once: other cores hold copies of the memory that it
  // writes, and dropping the copies takes several times as long where all cores ask for it.
  void share_operands(BackwardTile<T>& tile, const Sequence& s, const QueryBlock& q) const {
    const int64_t head_k = q.head / call_.group();
    const auto make_up_to = [&](int64_t last) {
      int64_t step;
      while ((step = take(memory_.next_made + s.index * call_.heads_k + head_k, std::min(last + 1, steps(s)))) >= 0)
        make_operands(tile, s, query_block(s, head_k, step));
    };
    make_up_to(q.step);
    await(memory_.made + slot(s, q), 1);
    make_up_to(q.step + 1);
  }
  void make_operands(BackwardTile<T>& tile, const Sequence& s, const QueryBlock& q) const {
    const QueryOperands operands = shared_operands(s, q);
    // copies in other cores are dropped many at a time
    for (int64_t x = 0; x < BackwardCut::operand_bytes(call_) / 4; x += kFloatsOfLine)
      prefetch_for_writing(operands.q_lanes + x);
    tile.begin(q.head, q.first, q.n, operands, true);
    announce(memory_.made + slot(s, q), 1);
  }

  // The part of an item's queries that a task computes.
  struct Piece {
    int64_t begin, end;  // in units of 1 / kLateWhole of the queries
    char* sums;          // dK and dV of an item in several pieces
    int32_t* lost;       // set if dot products may have lost what counts
  };

  // Whole items come first, then the first pieces of all late items, then their second pieces, and so on.
  void piece_step(int64_t task, int64_t piece, int32_t* lost) const {
    const int64_t whole = cut_.items() - cut_.late, late = piece - whole;
    if (late < 0) return item_step(task, piece, {0, kLateWhole, nullptr, lost});
    const int64_t which = late % cut_.late, index = late / cut_.late;
    char* sums = memory_.late_sums + which * static_cast<int64_t>(memory_.sums_bytes);
    // Pieces begin in order: a task took the piece before this one long ago.
    int32_t* done = memory_.late_done + which;
    await(done, index);
    item_step(task, whole + which, {kLateEnds[index], kLateEnds[index + 1], sums, lost});
    announce(done, index + 1);
  }

  void item_step(int64_t task, int64_t item, const Piece& piece) const {
    // the longest items of a causal problem come first
    const int64_t all_heads = cut_.batches * cut_.heads, range = item / all_heads, head = item % cut_.heads,
                  batch = item % all_heads / cut_.heads;
    const int64_t batch_end = cut_.join_batches ? call_.batch : batch + 1,
                  head_end = cut_.join_heads ? call_.heads_k : head + 1;
    for (int64_t b = batch; b < batch_end; ++b)
      for (int64_t h = head; h < head_end; ++h) key_head(task, b, h, range, piece);
  }

  // All gradients of one key head that come from one range of its keys.
  void key_head(int64_t task, int64_t b, int64_t head_k, int64_t range, const Piece& piece) const {
    const Sequence s = sequence(call_, b);
    const int64_t first = std::min(range * cut_.range_keys(), s.seqlen_k),
                  last = std::min(first + cut_.range_keys(), s.seqlen_k);
    if (range > 0 && first == last) return;
    const int64_t begin = steps(s) * piece.begin / kLateWhole, end = steps(s) * piece.end / kLateWhole;
    if (begin == end && piece.begin > 0 && piece.end < kLateWhole) return;
    Scratch carve = task_memory(task);
    const BackwardScratch scratch(call_, carve);
    SumTree dq(carve, BackwardMemory::dq_floats(call_), cut_.range_parts);
    const int64_t row = gradient_row(call_.head_dim), row_v = gradient_row(call_.head_dim_v);
    const int64_t count = last - first, dk_floats = count * row, dv_floats = count * row_v;
    Scratch kept(piece.sums), &place = piece.sums ? kept : carve;
    float *dk = place.take<float>(dk_floats), *dv = place.take<float>(dv_floats);
    if (piece.begin == 0) {
      std::fill(dk, dk + dk_floats, 0.f);
      std::fill(dv, dv + dv_floats, 0.f);
    }
    BackwardRange keys = {dk, dv, nullptr, nullptr, first, count};
    if (cut_.packs) {
      keys.k = packed(call_.k, s, head_k, first, count, call_.head_dim, carve);
      keys.v = packed(call_.v, s, head_k, first, count, call_.head_dim_v, carve);
    }
    add_dbias_strides(keys);
    [[maybe_unused]] const TileScope tiles(kBlockDot<T>);
    BackwardTile<T> tile(call_, s, head_k, scratch, keys);
    for (int64_t step = begin; step < end; ++step) {
      const QueryBlock q = query_block(s, head_k, step);
      const bool sinks = call_.dsink && range == 0;
      const QueryOperands operands = cut_.shares ? shared_operands(s, q) : scratch.queries;
      add_block(tile, dq, keys, s, q, operands, sinks);
      if (sinks) memory_.dsink[b * call_.heads_q + q.head] += tile.sink_sum(sink_of(call_, q.head));
    }
    if (!tile.exact()) announce(piece.lost, 1);
    if (piece.end < kLateWhole) return;
    write_key_rows(call_.dk, s, head_k, keys.dk, first, last, call_.head_dim, static_cast<float>(call_.scale));
    write_key_rows(call_.dv, s, head_k, keys.dv, first, last, call_.head_dim_v, 1.f);
  }

  // Rows of K or V as words, in the task's memory.
  const float* packed(const View& view, const Sequence& s, int64_t head_k, int64_t first, int64_t count, int64_t dim,
                      Scratch& carve) const {
    float* rows = carve.take<float>(count * apart(padded(dim)));
    copy_rows<false, T>(call_, view, s, first, count, head_k, dim, rows);
    return rows;
  }

  // A block of queries against the keys of the range that it attends.
  void add_block(BackwardTile<T>& tile, SumTree& dq, const BackwardRange& keys, const Sequence& s, const QueryBlock& q,
                 const QueryOperands& operands, bool always_begin) const {
    const KeySpan span(call_, s, q.first, q.n);
    const int64_t first = keys.first_key, range = first / cut_.range_keys(), from = std::max(span.begin, first),
                  to = std::min(span.end, first + keys.count);
    if (from < to || always_begin) {
      if (cut_.shares) share_operands(tile, s, q);
      tile.begin(q.head, q.first, q.n, operands, !cut_.shares);
    }
    if (call_.dq && range == 0 && span.begin >= span.end) write_zeros(s, q.head, q.first, q.n);
    if (from >= to) return;
    dq.begin();
    const RangeSums ranges = range_sums(slot(s, q), span, lane_floats(q));
    if (call_.dq) tile.fetch(ranges.touched_first(range), lane_floats(q));
    for (int64_t part = (from - first) / kPartKeys; first + part * kPartKeys < to; ++part) {
      const int64_t low = first + part * kPartKeys;
      tile.keys(std::max(from, low), std::min(to, low + kPartKeys), dq.next(part));
      dq.end_part(part);
    }
    if (!call_.dq) return;
    float* sum = dq.total();
    if (ranges.complete(range, sum)) write_dq(sum, s, q);
  }

  // Floats of dQ^T [groups][head_dim][kGroupLanes] of a block.
  int64_t lane_floats(const QueryBlock& q) const {
    return (q.n + kGroupLanes - 1) / kGroupLanes * kGroupLanes * call_.head_dim;
  }
  RangeSums range_sums(int64_t slot, const KeySpan& span, int64_t floats) const {
    return {memory_.partial_dq + slot * cut_.ranges * BackwardMemory::dq_floats(call_),
            BackwardMemory::dq_floats(call_),
            floats,
            memory_.met + slot * cut_.ranges,
            span.begin / cut_.range_keys(),
            (span.end - 1) / cut_.range_keys()};
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

  void add_dbias_strides(BackwardRange& sums) const {
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

inline bool backward(const BackwardCall& call, const rapt_executor& executor, char* workspace) {
  return with_float_type(call.dtype, [&]<class T>(std::type_identity<T>) {
    return Backward<T>(call, workspace, executor.concurrency).run(executor);
  });
}

inline const char* backward_kernel(const Problem& problem) {
  if (problem.dtype != DType::bf16 || !kBlockDot<Bf16>) return "bwd_tile_fma";
  return kHasTiles ? "bwd_tile_amx" : "bwd_tile_dot";
}

}  // namespace rapt::cpu::RAPT_TIER
