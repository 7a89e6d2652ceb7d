// What split kernels share: how a workgroup begins, masks, options and softmax of a block of keys between its products,
// and where results go. A lane has some of the keys of a row of q.
#pragma once

#include "kernels/amd/tile/huge_logits.hpp"
#include "kernels/amd/tile/split_keys.hpp"
#include "kernels/common/sink.hpp"
#include "kernels/common/softmax.hpp"

namespace rapt::amd {

// A lane's scores of a block, as kernels/common sees them.
template <class R>
struct RowScores {
  static constexpr int count = R::scores;
  static constexpr int group = 1;  // a cache's first key may be in any row

  float (&s)[count];
  int lane;

  DEVICE_MEMBER float get(int i) const { return s[i]; }
  DEVICE_MEMBER void set(int i, float x) const { s[i] = x; }
  DEVICE_MEMBER void scale(float factor) const {
#pragma unroll
    for (int i = 0; i < count; ++i) s[i] *= factor;
  }
  DEVICE_MEMBER int key(int i) const { return first_key() + i; }
  DEVICE_MEMBER int first_key() const { return lane / 16 * count; }
  DEVICE int step(int i) { return i; }
};

// The workgroup's block waits in LDS until it is needed again. Through the loop over keys it would take scalar
// registers, and gfx9 has only 102.
DEVICE SplitBlock load_uniform(const SplitBlock& in_lds) {
  struct Words {
    int x[sizeof(SplitBlock) / sizeof(int)];
  };
  Words words = __builtin_bit_cast(Words, in_lds);
#pragma unroll
  for (int& x : words.x) x = uniform(x);
  return __builtin_bit_cast(SplitBlock, words);
}

// Scalar loads of these arguments all begin where this is called. Each by itself, where a branch needs it, would take
// its whole latency: before the first row of K is loaded, and again at the end.
DEVICE void load_together_for_keys(SplitArguments& a) {
  Problem& p = a.problem;
  const auto& c = a.cache;
  asm volatile("" ::"s"(a.row_tiles), "s"(a.splits), "s"(a.split_rows), "s"(a.by_row_tiles.factor),
               "s"(a.by_splits.factor), "s"(a.by_split_rows.shift), "s"(a.by_heads_k.shift), "s"(a.by_group.shift),
               "s"(a.new_keys.seqlen), "s"(c.seqused), "s"(c.leftpad), "s"(c.batch_idx), "s"(c.block_table),
               "s"(p.cu_seqlens_q), "s"(p.cu_seqlens_k), "s"(p.heads_k), "s"(p.group), "s"(p.seqlen_q),
               "s"(p.seqlen_k));
}
DEVICE void load_together_for_results(SplitArguments& a) {
  Problem& p = a.problem;
  asm volatile("" ::"s"(a.splits), "s"(a.by_group.factor), "s"(a.by_group.shift), "s"(a.out.data), "s"(a.out.seq),
               "s"(a.partial.out), "s"(a.partial.softmax), "s"(a.partial.dims), "s"(p.heads_k), "s"(p.group),
               "s"(p.seqlen_q), "s"(p.head_dim_v));
}

// What follows from the workgroup's number. The first pass leaves the block in LDS.
struct SplitStart {
  SplitBlock block;
  CacheRows k, v;
  bool has_keys;  // to attend

  DEVICE_MEMBER SplitStart(SplitArguments& a, int pass, SplitBlock& in_lds)
      : block(split_block(a, opaque_uniform(workgroup_id()))),
        k(a, block, a.k),
        v(a, block, a.v),
        has_keys(a.splits == 1 || block.split < splits_with_keys(a, block)) {
    if (pass == kAll && opaque_thread_id() == 0) in_lds = block;
  }
};

// Writes the new keys of the split.
template <class T, int Threads>
DEVICE void append_new(SplitArguments& a, const SplitStart& start) {
  if (a.new_keys.seqlen == 0) return;
  append<T, Threads>(a, start.block, opaque_thread_id(), start.k, start.v, start.block.split * a.split_rows,
                     (start.block.split + 1) * a.split_rows);
  global_barrier();
}

// The tile's rows of q as operand B, in the slice from first_dim on. load() takes rows that are as long as the kernel's
// tile and are not rotated, other rows go through LDS. load() comes before the first rows of K and V, because loads
// arrive in order. LDS comes after them, because rotating takes a while.
template <class T, class K>
struct QueryOperand {
  using R = typename K::R;
  typename R::B steps[K::steps];
  bool loaded = false;

  DEVICE_MEMBER QueryOperand() {
#pragma unroll
    for (auto& step : steps) any_value(step);
  }

  DEVICE_MEMBER void load(SplitArguments& a, const SplitBlock& block, int tile_dims, int first_dim) {
    const ThreadPlace place = ThreadPlace::of_thread();
    const int rows = query_rows(a.problem, block);
    const auto data = static_cast<const char*>(a.q.data);
    loaded = a.new_keys.rotary_dim == 0 && a.problem.head_dim == tile_dims && rows > 0 &&
             aligned(data, a.q.batch | a.q.seq | a.q.head);
    if (!loaded) return;
    const SplitRow row = split_row(a, block, min(place.row, rows - 1));
    const char* const from = first_row_of(a.q, block.batch, block.q, row.head) + row.query * a.q.seq +
                             first_dim * K::size + R::b_offset(place.lane);
#pragma unroll
    for (int c = 0; c < K::steps; ++c) steps[c] = load_unaligned<typename R::B, K::size>(from + c * R::step * K::size);
  }

  // `lds` has room for the rows, of row_bytes each. After a barrier.
  template <int TileDims, int Threads>
  DEVICE_MEMBER void load_through_lds(SplitArguments& a, const SplitBlock& in_lds, char* lds, int first_dim) {
    constexpr int row_bytes = TileDims * K::size + 16;
    const ThreadPlace place = ThreadPlace::of_thread();
    stage_q<T, TileDims, Threads>(opaque_copy(a), load_uniform(in_lds), place.thread,
                                  [&](int row, int x) { return lds + row * row_bytes + x * K::size; });
    barrier();
    const char* const own = lds + place.row * row_bytes + first_dim * K::size + R::b_offset(place.lane);
#pragma unroll
    for (int c = 0; c < K::steps; ++c) steps[c] = *reinterpret_cast<const typename R::B*>(own + c * R::step * K::size);
    barrier();
  }
};

// One row of q of the tile, with what a wave has computed of it.
template <class T, bool General, class K>
struct RowOfWave {
  using R = typename K::R;
  const SplitBlock& block_in_lds;
  int first_key;  // row of k of the first one
  int head;       // of q
  Query query;
  Keys keys;  // of the split
  int pass;
  float scale;
  Softmax<T, General, RowLanes> softmax = {};
  typename K::Result o = {};
  Raised<T> raised = Raised<T>::most();  // V, and so o
  float own = 1;                         // lowers products with q

  // Row lane % 16 of the tile, or what K takes for it.
  DEVICE RowOfWave of(SplitArguments& a, const SplitBlock& block, const SplitBlock& in_lds, int pass) {
    Problem& p = a.problem;
    const SplitRow row = split_row(a, block, K::query_row(ThreadPlace::of_thread().row));
    return {in_lds,
            block.first_key,
            row.head,
            query_of(p, block.block(p, 0), row.query),
            split_keys(a, block),
            pass,
            exponent_scale(pass, General ? kLog2e : p.scale_log2)};
  }

  // Turns the products with the block of keys whose first row is `first` into probabilities; rescales o where the
  // maximum grew.
  DEVICE_MEMBER void probabilities(SplitArguments& a, int first, typename K::Scores& s) {
    const int lane = ThreadPlace::of_thread().lane;
    mask(a, first, lane, s);
    const float left = General || pass == kAll ? scale : 1;
    float maximum = -__builtin_inff();
    for_scores(s, [&](float& x) { maximum = max(maximum, x); });
    if constexpr (!General) maximum *= left;
    if (any_lane(softmax.outgrown(maximum))) {
      const float factor = softmax.raise_reference(maximum, General ? scale : 1);
#pragma unroll
      for (auto& chunk : o)
#pragma unroll
        for (auto& x : chunk) x *= factor;
    }
    float sum = 0;
    for_scores(s, [&](float& x) {
      x = exp2(General ? (x - softmax.reference) * scale : __builtin_fmaf(x, left, -softmax.reference));
      sum += x;
    });
    softmax.add(sum);
    if constexpr (General) drop_some(a, first, lane, s);
  }

 private:
  template <class F>
  DEVICE void for_scores(typename K::Scores& s, F f) {
#pragma unroll
    for (auto& block : s)
#pragma unroll
      for (float& x : block) f(x);
  }

  DEVICE_MEMBER void mask(SplitArguments& a, int first, int lane, typename K::Scores& s) const {
    if constexpr (General) {
      Problem& p = opaque_copy(a).problem;
      const SplitBlock block = load_uniform(block_in_lds);
#pragma unroll
      for (int b = 0; b < K::blocks; ++b)
        transform_logits(p, block.block(p, head), query, first + b * R::keys - first_key, RowScores<R>{s[b], lane});
    } else if (first < keys.full_begin || first + K::blocks * R::keys > keys.full_end) {
      if (pass != kAll) for_scores(s, [&](float& x) { x *= scale; });
#pragma unroll
      for (int b = 0; b < K::blocks; ++b) {
        const int key = first + b * R::keys - first_key;
        exclude(RowScores<R>{s[b], lane}, query.begin - key, query.end - key);
      }
    }
  }

  DEVICE_MEMBER void drop_some(SplitArguments& a, int first, int lane, typename K::Scores& s) const {
    if (!drops(pass) || opaque_copy(a).problem.keep_threshold >= 65536) return;
    Problem& p = opaque_copy(a).problem;
    const SplitBlock block = load_uniform(block_in_lds);
#pragma unroll
    for (int b = 0; b < K::blocks; ++b)
      drop(p, block.block(p, head), query, first + b * R::keys - first_key, RowScores<R>{s[b], lane}, pass == kDropped);
  }
};

// Completes the softmax of row `row` of the tile over the split's keys, `writes` says whether in memory too. Returns
// the factor of its results.
template <class T, bool General>
DEVICE float finish_row(SplitArguments& a, const SplitBlock& block, int pass, int row, bool writes,
                        Softmax<T, General, RowLanes>& softmax) {
  if (a.splits > 1) {
    if (writes && pass < kAbove) a.partial.softmax[partial_row(a, block, row)] = {softmax.reference, softmax.sum};
    return 1;
  }
  const SplitRow place = split_row(a, block, row);
  const Block of_head = block.block(a.problem, place.head);
  const Sink sink = Sink::of<General>(a.problem, of_head);
  const float factor = softmax.finish_total(sink.logit) * (General ? a.problem.keep_scale : 1);
  if (writes && pass < kAbove) store_lse(a, of_head, place.query, sink.lse(softmax.lse()));
  return factor;
}

// Where the result of a row goes: to out or, of several splits, to its partial result.
template <class T>
struct ResultRow {
  char* data;

  // `row` counts within the tile.
  DEVICE ResultRow of(SplitArguments& a, const SplitBlock& block, int row) {
    if (a.splits > 1) return {reinterpret_cast<char*>(a.partial.out + partial_row(a, block, row) * a.partial.dims)};
    const SplitRow place = split_row(a, block, row);
    return {first_row_of(a.out, block.batch, block.q, place.head) + place.query * a.out.seq};
  }

  DEVICE_MEMBER void store(SplitArguments& a, int pass, int dim, float x, float factor) const {
    if (pass >= kAbove) return add_where_weighted(a, added(pass), dim, x);
    if (a.splits > 1) element<float>(dim) = x;
    else element<typename T::element>(dim) = T::round(x * factor);
  }

 private:
  DEVICE_MEMBER void add_where_weighted(SplitArguments& a, float x, int dim, float weight) const {
    if (weight == 0) return;
    if (a.splits > 1) {
      element<float>(dim) += x;
    } else {
      auto& to = element<typename T::element>(dim);
      to = T::round(T::to_float(to) + x);
    }
  }

  // The compiler does not know that an address which it reads from LDS is one of global memory.
  template <class E>
  DEVICE_MEMBER __attribute__((address_space(1))) E& element(int dim) const {
    using Global = __attribute__((address_space(1))) E;
    return reinterpret_cast<Global*>(reinterpret_cast<uint64_t>(data))[dim];
  }
};

}  // namespace rapt::amd
