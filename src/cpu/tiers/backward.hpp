// Backward attention on the CPU: work items and the sums over them. An item owns a range of keys of one key head and
// its dK and dV; dQ of several ranges is summed afterwards in fixed order. If dBias is shared by batches or heads, one
// item computes them all, so it is summed in fixed order too. Nothing depends on the number of threads.
#pragma once

#include "base/parallel.hpp"
#include "cpu/tiers/backward_tile.hpp"
#include "problem/with_type.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kWantedBackwardItems = 32;
inline constexpr int64_t kMostBackwardSplits = 8;
inline constexpr int64_t kLeastBackwardSplitKeys = 1024;
inline constexpr int64_t kMostPartialDqBytes = int64_t{128} << 20;

struct BackwardCut {
  bool join_batches, join_heads;  // one item computes all of them
  int64_t batches, heads, splits;

  explicit BackwardCut(const BackwardCall& call) {
    join_batches = call.dbias && call.dbias.shape[0] == 1;
    join_heads = call.dbias && call.dbias.shape[1] == 1;
    batches = join_batches ? std::min<int64_t>(call.batch, 1) : call.batch;
    heads = join_heads ? 1 : call.heads_k;
    splits = std::clamp<int64_t>(kWantedBackwardItems / std::max<int64_t>(batches * heads, 1), 1,
                                 std::clamp<int64_t>(call.seqlen_k / kLeastBackwardSplitKeys, 1, kMostBackwardSplits));
    const int64_t dq_bytes = query_rows(call) * call.heads_q * call.head_dim * 4;
    while (splits > 1 && splits * dq_bytes > kMostPartialDqBytes) --splits;
    if (call.dbias && call.dbias.shape[3] == 1) splits = 1;
  }
  static int64_t query_rows(const Call& call) { return call.cu_seqlens_q ? call.total_q : call.batch * call.seqlen_q; }
  int64_t items() const { return batches * heads * splits; }
  int64_t share(int64_t seqlen_k) const {  // keys of one split, whole blocks
    return ((seqlen_k + splits - 1) / splits + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
  }
};

struct BackwardMemory {
  size_t per_task = 0, bytes = 0;
  char* tasks = nullptr;
  float* partial_dq = nullptr;  // [splits][query rows][heads_q][head_dim]
  double* dsink = nullptr;      // [batch][heads_q]
  float* dbias = nullptr;       // compact, the shape of dbias
  int64_t dbias_count = 0;

  BackwardMemory(const BackwardCall& call, const BackwardCut& cut, int32_t concurrency, char* base) {
    Scratch task(nullptr);
    BackwardScratch(call, task);
    const int64_t keys = std::min(cut.share(call.seqlen_k), call.seqlen_k);
    task.take<float>(keys * gradient_row(call.head_dim));
    task.take<float>(keys * gradient_row(call.head_dim_v));
    per_task = task.used();
    Scratch carve(base);
    const rapt_executor width = {0, concurrency, nullptr, nullptr};
    tasks = carve.take<char>(static_cast<int64_t>(per_task) * task_count(width, cut.items()));
    if (cut.splits > 1)
      partial_dq = carve.take<float>(cut.splits * BackwardCut::query_rows(call) * call.heads_q * call.head_dim);
    dsink = carve.take<double>(call.batch * call.heads_q);
    if (call.dbias) {
      dbias_count = 1;
      for (int64_t size : call.dbias.shape) dbias_count *= size;
      dbias = carve.take<float>(dbias_count);
    }
    bytes = carve.used();
  }
};

template <class T>
class Backward {
 public:
  Backward(const BackwardCall& call, char* workspace, int32_t concurrency)
      : call_(call), cut_(call), memory_(call, cut_, concurrency, workspace) {}

  void run(const rapt_executor& executor) const {
    std::fill(memory_.dbias, memory_.dbias + memory_.dbias_count, 0.f);
    parallel_items(executor, cut_.items(), [&](int64_t task, int64_t item) { item_step(task, item); });
    if (cut_.splits > 1 && call_.dq)
      parallel_items(executor, call_.batch * call_.heads_q,
                     [&](int64_t, int64_t i) { sum_dq(i / call_.heads_q, i % call_.heads_q); });
    if (call_.dsink) write_dsink();
    if (call_.dbias) write_dbias();
  }

 private:
  void item_step(int64_t task, int64_t item) const {
    const int64_t split = item % cut_.splits, head = item / cut_.splits % cut_.heads,
                  batch = item / cut_.splits / cut_.heads;
    const int64_t batch_end = cut_.join_batches ? call_.batch : batch + 1,
                  head_end = cut_.join_heads ? call_.heads_k : head + 1;
    for (int64_t b = batch; b < batch_end; ++b)
      for (int64_t h = head; h < head_end; ++h) key_head(task, b, h, split);
  }

  // All gradients of one key head that come from one range of its keys.
  void key_head(int64_t task, int64_t b, int64_t head_k, int64_t split) const {
    const Sequence s = sequence(call_, b);
    const int64_t share = cut_.share(s.seqlen_k), first = std::min(split * share, s.seqlen_k),
                  last = std::min(first + share, s.seqlen_k);
    Scratch carve(memory_.tasks + task * static_cast<int64_t>(memory_.per_task));
    const BackwardScratch scratch(call_, carve);
    const int64_t row = gradient_row(call_.head_dim), row_v = gradient_row(call_.head_dim_v);
    BackwardSums sums = {carve.take<float>((last - first) * row), carve.take<float>((last - first) * row_v), first};
    std::fill(sums.dk, sums.dk + (last - first) * row, 0.f);
    std::fill(sums.dv, sums.dv + (last - first) * row_v, 0.f);
    add_dbias_strides(sums);
    [[maybe_unused]] const TileScope tiles(kBlockDot<T>);
    BackwardTile<T> tile(call_, s, head_k, scratch, sums);
    const int64_t block = backward_queries(call_);
    for (int64_t head = head_k * call_.group(); head < (head_k + 1) * call_.group(); ++head) {
      double sink = 0;
      for (int64_t i = 0; i < s.seqlen_q; i += block) {
        tile.run(head, i, std::min(block, s.seqlen_q - i), first, last);
        if (call_.dq) write_dq(tile, s, head, split);
        if (call_.dsink && split == 0)
          sink += tile.sink_sum(read_float(call_.sink.data, call_.sink.dtype, head * call_.sink.head));
      }
      if (call_.dsink && split == 0) memory_.dsink[b * call_.heads_q + head] = sink;
    }
    write_key_rows(call_.dk, s, head_k, sums.dk, first, last, call_.head_dim, static_cast<float>(call_.scale));
    write_key_rows(call_.dv, s, head_k, sums.dv, first, last, call_.head_dim_v, 1.f);
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

  float* partial_row(const Sequence& s, int64_t head, int64_t split, int64_t i) const {
    const int64_t row = call_.cu_seqlens_q ? s.first_q + i : s.index * call_.seqlen_q + i;
    return memory_.partial_dq +
           ((split * BackwardCut::query_rows(call_) + row) * call_.heads_q + head) * call_.head_dim;
  }
  T* dq_row(const Sequence& s, int64_t head, int64_t i) const {
    return reinterpret_cast<T*>(call_.dq.data) + query_offset(call_.dq, s, i, head);
  }

  void write_dq(const BackwardTile<T>& tile, const Sequence& s, int64_t head, int64_t split) const {
    if (cut_.splits > 1) tile.template write_dq<float>([&](int64_t i) { return partial_row(s, head, split, i); });
    else tile.template write_dq<T>([&](int64_t i) { return dq_row(s, head, i); });
  }

  void sum_dq(int64_t b, int64_t head) const {
    const Sequence s = sequence(call_, b);
    const int64_t dim = call_.head_dim;
    for (int64_t i = 0; i < s.seqlen_q; ++i)
      for (int64_t x = 0; x < dim; x += kLanes) {
        F total = load_words<false>(partial_row(s, head, 0, i), x, dim);
        for (int64_t split = 1; split < cut_.splits; ++split)
          total = total + load_words<false>(partial_row(s, head, split, i), x, dim);
        store_elements(dq_row(s, head, i), x, dim, total);
      }
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
  const BackwardCut cut_;
  const BackwardMemory memory_;
};

inline size_t backward_workspace(const BackwardCall& call, int32_t concurrency) {
  return BackwardMemory(call, BackwardCut(call), concurrency, nullptr).bytes;
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
