// Forward attention of one block of queries: FlashAttention-2's loop (Dao, 2023) over key blocks, queries in lanes.
//   Q^T [groups][words][kGroupLanes], O^T [groups][head_dim_v][kGroupLanes]   scratch, fp32 (Q^T of bf16: pairs)
//   S^T, P^T [keys][kGroupLanes]                                              scratch, in L1
//   K, V [keys][words]                                                        in place, or copied where the layout asks
// Blocks of keys end at the same keys for any block of queries, so that a group's bits do not depend on its neighbours.
#pragma once

#include "base/scratch.hpp"
#include "cpu/tiers/forward_pipeline.hpp"
#include "cpu/tiers/small_numbers.hpp"

namespace rapt::cpu::RAPT_TIER {

// True if K and V are copied as floats for every block of queries.
inline bool widens(const Call& call) {
  return call.dtype == DType::fp16 || (call.dtype == DType::bf16 && !kHasBf16Dot);
}
inline int64_t forward_queries(const Call& call) {
  const int64_t row_bytes = widest_head(call) * (call.dtype == DType::bf16 && kHasBf16Dot ? 2 : 4);
  if (kHasTiles && widens(call) && row_bytes <= 512) return 256;  // L2 has 2 MiB
  return row_bytes <= 256 ? 256 : row_bytes <= 1024 ? 128 : 64;
}

// The unnormalised result of a range of keys for one query row, merged later in a fixed order.
struct PartialRows {
  float* o = nullptr;  // [rows][head_dim_v]
  float* m = nullptr;  // [rows], in maximum_unit
  float* l = nullptr;
};

struct ForwardScratch {
  float *q, *o, *s, *p, *keys, *values, *added, *factors, *m, *l;
  bool* excluded;  // [keys][kGroupLanes]
  QueryLanes* lanes;
  Alibi* alibi;

  ForwardScratch(const Call& call, Scratch& carve) {
    const int64_t nq = forward_queries(call), nk = key_block(call);
    q = carve.take<float>(nq * call.head_dim);
    o = carve.take<float>(nq * call.head_dim_v);
    s = carve.take<float>(nk * kGroupLanes);
    p = carve.take<float>(nk / 2 * kGroupLanes);
    keys = carve.take<float>(nk * apart(padded(call.head_dim)));
    values = carve.take<float>(nk * apart(padded(call.head_dim_v)));
    added = carve.take<float>(nk * kGroupLanes);
    factors = carve.take<float>(nk * kGroupLanes);
    m = carve.take<float>(nq);
    l = carve.take<float>(nq);
    excluded = carve.take<bool>(nk * kGroupLanes);
    lanes = carve.take<QueryLanes>(1);
    alibi = carve.take<Alibi>(1);
  }
};

template <class T>
class ForwardTile {
  static constexpr bool kDot = kBlockDot<T>, kTiles = kDot && kHasTiles;

 public:
  ForwardTile(const ForwardCall& call, const Sequence& s, int64_t head_k, const ForwardScratch& scratch)
      : call_(call),
        s_(s),
        head_k_(head_k),
        w_(scratch),
        words_(words<kDot>(call.head_dim)),
        dim_v_(call.head_dim_v),
        scale_log2_(static_cast<float>(call.scale) * kLog2e),
        options_(has_natural_logits(call)) {}

  // Queries [first, first + n) of `rows` with keys [key_first, key_last). Writes the rows' unnormalised results to
  // `partial` if given (row index: within this block), otherwise out and lse. The sink counts only if `with_sink`.
  // False if dot products may have lost what counts.
  bool run(const QueryRows& rows, int64_t first, int64_t n, int64_t key_first, int64_t key_last, bool with_sink,
           const PartialRows* partial) {
    prepare(rows, first, n);
    keys_first_ = key_first;
    keys_last_ = key_last;
    again_ = false;
    std::fill(wanted_, wanted_ + kMostGroups, true);
    attend(with_sink);
    for (int64_t g = 0; g < w_.lanes->groups; ++g) again_ |= wanted_[g] = !result_finite(g);
    if (again_) attend(with_sink);
    bool exact = true;
    if constexpr (kDot) exact = keeps_all();
    partial ? write_partial(*partial) : write_result();
    return exact;
  }

 private:
  // All keys, for the groups that are wanted.
  void attend(bool with_sink) {
    int64_t begin = keys_last_, end = keys_first_;
    for (int64_t g = 0; g < w_.lanes->groups; ++g) {
      KeyRange& r = range_[g] = wanted_[g] ? key_range(*w_.lanes, g) : KeyRange{};
      r.begin = std::max(r.begin, keys_first_);
      r.end = std::min(r.end, keys_last_);
      if (wanted_[g]) begin_group(g, with_sink);
      if (r.begin >= r.end) continue;
      begin = std::min(begin, r.begin);
      end = std::max(end, r.end);
    }
    const int64_t step = key_block(call_);
    keys_end_ = end;
    begin -= (begin - keys_first_) % 2;  // V's rows come in pairs
    for (int64_t j = begin, next; j < end; j = next) {
      next = std::min(j + step - (j - keys_first_) % step, end);
      key_block_step(j, next - j);
    }
  }

  void prepare(const QueryRows& rows, int64_t first, int64_t n) {
    QueryLanes& lanes = *w_.lanes;
    lanes.set(call_, s_, rows, first, n);
    w_.alibi->set(call_, s_, lanes);
    for (int64_t lane = 0; lane < n; ++lane) prefetch_row(query<const T>(call_.q, lane), call_.head_dim);
    for (int64_t at = 0; at < lanes.groups * kGroupLanes; at += kLanes) {
      const T* row[kLanes];
      for (int i = 0; i < kLanes; ++i) row[i] = at + i < n ? query<const T>(call_.q, at + i) : nullptr;
      const int64_t group = at / kGroupLanes, lane = at % kGroupLanes;
      transpose_rows<kDot>(row, call_.head_dim, w_.q + group * words_ * kGroupLanes + lane, kGroupLanes);
    }
  }
  void begin_group(int64_t g, bool with_sink) {
    for (int64_t at = g * kGroupLanes; at < (g + 1) * kGroupLanes; ++at) {
      const float sink = with_sink ? early_sink(sink_of(call_, w_.lanes->head[at])) : -INFINITY;
      w_.m[at] = options_ ? sink : sink * kLog2e;
      w_.l[at] = sink == -INFINITY ? 0.f : 1.f;
    }
    fresh_[g] = true;
  }

  template <class Element>
  Element* query(const View& view, int64_t lane) const {
    return reinterpret_cast<Element*>(view.data) + query_offset(view, s_, w_.lanes->query[lane], w_.lanes->head[lane]);
  }

  void key_block_step(int64_t j0, int64_t count) {
    block_first_ = j0;
    block_count_ = count;
    values_finite_ = -1;
    if constexpr (kAvx2Only) fetched_ = 0;
    const Rows k = block_rows<kDot, T>(call_, call_.k, s_, j0, count, head_k_, call_.head_dim, w_.keys);
    const Rows v = value_rows();
    PipelinedGroup plain[kMostGroups];
    int64_t plains = 0;
    for (int64_t g = 0; g < w_.lanes->groups; ++g) {
      int64_t low = std::max(j0, range_[g].begin);
      const int64_t high = std::min(j0 + count, range_[g].end);
      if constexpr (!kAvx2Only) prefetch_next(g);
      if (low >= high) continue;
      if (kDot) low -= (low - j0) % 2;  // V's rows come in pairs
      const Rows keys = {k.data + (low - j0) * k.row, k.row},
                 values = {v.data + (low - j0) / (kDot ? 2 : 1) * (kTiles ? 1 : v.row), v.row};
      if (kTiles && pipelines(g, low, high - low)) plain[plains++] = pipelined(g, high - low, keys, values);
      else group_step(g, low, high - low, keys, values);
    }
#if defined(__AMX_BF16__)
    const TilePipeline pipeline{scale_log2_, words_, dim_v_, {w_.s, w_.added}, {w_.p, w_.factors}};
    if (kTiles && plains > 0) pipeline.run(plain, plains);
#endif
  }

  // True if a group's strip needs only products of whole tiles and a softmax. Nothing else in the block may matter,
  // because the two ways differ in bits.
  bool pipelines(int64_t g, int64_t low, int64_t rows) const {
    const bool edges = low < range_[g].all_begin || low + rows > range_[g].all_end;
    constexpr int64_t kWhole = 2 * kTileRows;
    return !options_ && call_.dropout == 0 && !edges && !again_ && rows % kWhole == 0 && call_.head_dim % kWhole == 0 &&
           dim_v_ % kWhole == 0;
  }
  PipelinedGroup pipelined(int64_t g, int64_t rows, const Rows& k, const Rows& v) {
    const bool fresh = fresh_[g];
    fresh_[g] = false;
    return {w_.q + g * words_ * kGroupLanes, k,    v, rows, w_.o + g * dim_v_ * kGroupLanes, w_.m + g * kGroupLanes,
            w_.l + g * kGroupLanes,          fresh};
  }

  // If a head's K and V exceed L2, each group prefetches its share of the next block while it computes this one.
  void prefetch_next(int64_t g) const {
    const int64_t groups = w_.lanes->groups, next = block_first_ + block_count_,
                  count = std::min(key_block(call_), keys_end_ - next);
    for (int64_t j = next + count * g / groups; j < next + count * (g + 1) / groups; ++j) {
      prefetch_row(key_row<T>(call_, call_.k, s_, j, head_k_), call_.head_dim);
      prefetch_row(key_row<T>(call_, call_.v, s_, j, head_k_), dim_v_);
    }
  }

  // With AVX2 the same in smaller shares, between products of this many rows, and into L2: the next block's first group
  // waited for lines that were asked for many at a time.
  static constexpr int64_t kPieceRows = 48;
  static constexpr int64_t pieces(int64_t rows) { return (rows + kPieceRows - 1) / kPieceRows; }

  // product(first, count) for all `rows`, and the prefetches of group g, while `later` more pieces follow.
  template <class Product>
  RAPT_INLINE void in_pieces(int64_t g, int64_t rows, int64_t later, const Product& product) {
    const int64_t next = block_first_ + block_count_, count = std::min(key_block(call_), keys_end_ - next),
                  last = count * (g + 1) / w_.lanes->groups;
    for (int64_t at = 0, left = pieces(rows) + later; at < rows; at += kPieceRows, --left) {
      product(at, std::min(kPieceRows, rows - at));
      for (const int64_t end = fetched_ + (last - fetched_ + left - 1) / left; fetched_ < end; ++fetched_) {
        prefetch_row<prefetch_far>(key_row<T>(call_, call_.k, s_, next + fetched_, head_k_), call_.head_dim);
        prefetch_row<prefetch_far>(key_row<T>(call_, call_.v, s_, next + fetched_, head_k_), dim_v_);
      }
    }
  }

  // V's rows as the second product reads them; with tiles transposed, [head_dim_v][pairs of keys].
  Rows value_rows() {
    if constexpr (kTiles) {
#if defined(__AMX_BF16__)
      const int64_t row = key_block(call_) / 2;
      transpose_pairs([&](int64_t j) { return key_row<Bf16>(call_, call_.v, s_, block_first_ + j, head_k_); },
                      block_count_, dim_v_, w_.values, row);
      return {w_.values, row};
#endif
    } else if constexpr (kDot) {
      const int64_t row = padded(dim_v_);
#if defined(__AVX512BF16__)
      for (int64_t j = 0; j < block_count_; j += 2) {
        const Bf16* a = key_row<Bf16>(call_, call_.v, s_, block_first_ + j, head_k_);
        const Bf16* b =
            j + 1 < block_count_ ? key_row<Bf16>(call_, call_.v, s_, block_first_ + j + 1, head_k_) : nullptr;
        interleave_rows(a, b, dim_v_, w_.values + j / 2 * row);
      }
#endif
      return {w_.values, row};
    } else {
      return block_rows<false, T>(call_, call_.v, s_, block_first_, block_count_, head_k_, dim_v_, w_.values);
    }
  }

  // Keys [low, low + rows) for one group: logits, softmax, O.
  void group_step(int64_t g, int64_t low, int64_t rows, const Rows& k, const Rows& v) {
    const float* q = w_.q + g * words_ * kGroupLanes;
    const KeyRange& r = range_[g];
    const bool edges = low < r.all_begin || low + rows > r.all_end;
    F most[kVectors];
    for (F& x : most) x = splat(-INFINITY);
    if (options_ || edges) masked_logits(g, low, rows, k, q, most);
    else if constexpr (kAvx2Only)
      in_pieces(g, rows, pieces(dim_v_), [&](int64_t at, int64_t count) {
        column_of_dots<kDot, Out::store_max>(count, k.data + at * k.row, k.row, q, kGroupLanes, call_.head_dim,
                                             w_.s + at * kGroupLanes, kGroupLanes, most);
      });
    else
      column_of_dots<kDot, Out::store_max>(rows, k.data, k.row, q, kGroupLanes, call_.head_dim, w_.s, kGroupLanes,
                                           most);

    float factor = options_ ? 1.f : scale_log2_;
    float *m = w_.m + g * kGroupLanes, *l = w_.l + g * kGroupLanes;
    F shift[kVectors], alpha[kVectors], block_sum[kVectors] = {};
    raise_maximum(most, factor, maximum_log2(options_), m, shift, alpha);
    const bool careful = (edges || options_ || again_) && !values_finite() && note_excluded(rows);
    if (!options_) factor = scale_huge(w_.s, rows, factor, shift);
    const bool narrow_later = kDot && (call_.dropout != 0 || careful);  // P stays in floats until then
    if (options_ && narrow_later) exponentials<false, true>(w_.s, rows, factor, shift, block_sum, nullptr);
    else if (options_) exponentials<kDot, true>(w_.s, rows, factor, shift, block_sum, w_.p);
    else if (narrow_later) exponentials<false, false>(w_.s, rows, factor, shift, block_sum, nullptr);
    else exponentials<kDot, false>(w_.s, rows, factor, shift, block_sum, w_.p);
    for (int i = 0; i < kVectors; ++i) store(l + i * kLanes, fma(load(l + i * kLanes), alpha[i], block_sum[i]));
    if (call_.dropout != 0) {
      dropout_factors(call_, s_, *w_.lanes, g, low, rows, 1.f, w_.factors);
      apply_factors(w_.s, w_.factors, rows);
    }
    if (careful) return careful_values(g, low, rows, alpha);
    if (narrow_later) narrow_pairs(w_.s, rows, w_.p);
    const float* p = kDot ? w_.p : w_.s;
    float* o = w_.o + g * dim_v_ * kGroupLanes;
    const int64_t depth = kDot ? (rows + 1) / 2 : rows;
    fresh_[g] ? values<Out::store>(g, v, p, depth, o, nullptr) : values<Out::rescale>(g, v, p, depth, o, alpha);
    fresh_[g] = false;
  }

  // O^T = V^T P^T, or O^T * alpha + V^T P^T.
  template <Out kOut>
  RAPT_INLINE void values(int64_t g, const Rows& v, const float* p, int64_t depth, float* o, F* alpha) {
#if defined(__AMX_BF16__)
    if constexpr (kTiles)
      return column_of_tiles<kOut>(dim_v_, v.data, v.row, p, kGroupLanes, depth, o, kGroupLanes, alpha);
#endif
    if constexpr (!kAvx2Only)
      return column<kDot, kOut>(dim_v_, v.data, 1, v.row, p, kGroupLanes, depth, o, kGroupLanes, alpha);
    else
      in_pieces(g, dim_v_, 0, [&](int64_t at, int64_t count) {
        column<kDot, kOut>(count, v.data + at, 1, v.row, p, kGroupLanes, depth, o + at * kGroupLanes, kGroupLanes,
                           alpha);
      });
  }

  // Logits that need more than a product: with options, or rows at the edge of a mask.
  __attribute__((noinline)) void masked_logits(int64_t g, int64_t low, int64_t rows, const Rows& k, const float* q,
                                               F* most) {
    const KeyRange& r = range_[g];
    if (options_) {
      column_of_dots<kDot, Out::store>(rows, k.data, k.row, q, kGroupLanes, call_.head_dim, w_.s, kGroupLanes);
      renew_near_cap<T>(call_, s_, *w_.lanes, head_k_, g, low, rows, w_.s, kGroupLanes);
      apply_score_options(call_, s_, *w_.lanes, *w_.alibi, g, low, rows, w_.added, w_.s, kGroupLanes);
      apply_edges(*w_.lanes, g, low, rows, w_.s, kGroupLanes);
      fold_max(w_.s, rows, kGroupLanes, most);
      return;
    }
    const int64_t a = std::clamp(r.all_begin, low, low + rows), b = std::clamp(r.all_end, a, low + rows);
    const auto edge = [&](int64_t from, int64_t to) {
      if (from >= to) return;
      float* s = w_.s + (from - low) * kGroupLanes;
      column_of_dots<kDot, Out::store>(to - from, k.data + (from - low) * k.row, k.row, q, kGroupLanes, call_.head_dim,
                                       s, kGroupLanes);
      apply_edges(*w_.lanes, g, from, to - from, s, kGroupLanes);
      fold_max(s, to - from, kGroupLanes, most);
    };
    edge(low, a);
    if (a < b)
      column_of_dots<kDot, Out::store_max>(b - a, k.data + (a - low) * k.row, k.row, q, kGroupLanes, call_.head_dim,
                                           w_.s + (a - low) * kGroupLanes, kGroupLanes, most);
    edge(b, low + rows);
  }

  bool keeps_all() const {
    Sizes q;
    for (int64_t lane = 0; lane < w_.lanes->count; ++lane) q.add(query<const T>(call_.q, lane), call_.head_dim);
    bool keeps = keeps_logits(call_, q);
    const int64_t floats = dim_v_ * kGroupLanes;
    for (int64_t g = 0; g < w_.lanes->groups && keeps; ++g) {
      const KeyRange r = key_range(*w_.lanes, g);
      keeps = fresh_[g] || keeps_values(largest_of(w_.o + g * floats, floats), call_, s_,
                                        std::max(r.begin, keys_first_), std::min(r.end, keys_last_), head_k_);
    }
    return keeps;
  }

  // Excluded keys must not affect the result even if their V is Inf or NaN (0 * NaN is NaN). Such blocks are rare. They
  // are detected once per key block, over all of its keys whichever are attended, and use a plain loop over the
  // attended pairs. Where no mask excludes keys, an Inf in q or K can, by a logit of -Inf: a group whose result is not
  // finite is then computed again by the plain loop.
  bool result_finite(int64_t g) const {
    if (fresh_[g]) return true;
    const int64_t floats = dim_v_ * kGroupLanes;
    return sum(zero_if_finite(w_.o + g * floats, floats)) == 0;
  }
  bool values_finite() {
    if (values_finite_ < 0) {
      const int64_t step = key_block(call_), first = block_first_ - (block_first_ - keys_first_) % step;
      values_finite_ = rows_finite<T>(call_, call_.v, s_, first, std::min(step, keys_last_ - first), head_k_, dim_v_);
    }
    return values_finite_ != 0;
  }
  // True if some of these keys are excluded.
  bool note_excluded(int64_t rows) {
    bool any = false;
    for (int64_t i = 0; i < rows * kGroupLanes; ++i) any |= w_.excluded[i] = w_.s[i] == -INFINITY;
    return any;
  }
  __attribute__((noinline)) void careful_values(int64_t g, int64_t low, int64_t rows, const F* alpha) {
    float* o = w_.o + g * dim_v_ * kGroupLanes;
    for (int64_t x = 0; x < dim_v_; ++x)
      for (int v = 0; v < kVectors; ++v) {
        float* at = o + x * kGroupLanes + v * kLanes;
        store(at, fresh_[g] ? F{} : load(at) * alpha[v]);
      }
    fresh_[g] = false;
    for (int64_t j = 0; j < rows; ++j) {
      const T* v = key_row<T>(call_, call_.v, s_, low + j, head_k_);
      for (int64_t lane = 0; lane < kGroupLanes; ++lane) {
        if (w_.excluded[j * kGroupLanes + lane]) continue;
        const float p = w_.s[j * kGroupLanes + lane];
        for (int64_t x = 0; x < dim_v_; ++x) o[x * kGroupLanes + lane] += p * static_cast<float>(v[x]);
      }
    }
  }

  template <class Element, class RowPointer>
  void write_rows(const RowPointer& pointer, bool normalise) {
    for (int64_t at = 0; at < w_.lanes->groups * kGroupLanes; at += kLanes) {
      const int64_t g = at / kGroupLanes, lane = at % kGroupLanes;
      Element* row[kLanes];
      for (int i = 0; i < kLanes; ++i) row[i] = at + i < w_.lanes->count ? pointer(at + i) : nullptr;
      float* o = w_.o + g * dim_v_ * kGroupLanes + lane;
      if (fresh_[g])
        for (int64_t x = 0; x < dim_v_; ++x) store(o + x * kGroupLanes, F{});
      const F l = load(w_.l + at);
      // dropout's scale is applied here, because scaling P before rounding would round every row's largest key the same
      // way
      const F scale = splat(dropout_scale(call_));
      const F factor = normalise ? (l == F{} ? F{} : scale / l) : scale;
      untranspose_rows(o, kGroupLanes, factor, dim_v_, row);
    }
  }

  // Sinks that did not count in begin_group().
  void join_sinks() {
    for (int64_t lane = 0; lane < w_.lanes->count; ++lane) {
      const int64_t g = lane / kGroupLanes;
      float* o = w_.o + g * dim_v_ * kGroupLanes + lane % kGroupLanes;
      if (join_last(sink_of(call_, w_.lanes->head[lane]), w_.m[lane], w_.l[lane]) && !fresh_[g])
        for (int64_t x = 0; x < dim_v_; ++x) o[x * kGroupLanes] = 0;
    }
  }

  void write_result() {
    if (call_.sink) join_sinks();
    write_rows<T>([&](int64_t lane) { return query<T>(call_.out, lane); }, true);
    if (!call_.lse) return;
    float* lse = reinterpret_cast<float*>(call_.lse.data);
    for (int64_t lane = 0; lane < w_.lanes->count; ++lane)
      lse[lse_offset(call_.lse, s_, w_.lanes->query[lane], w_.lanes->head[lane])] =
          w_.m[lane] * maximum_unit(options_) + std::log(w_.l[lane]);
  }

  void write_partial(const PartialRows& to) {
    write_rows<float>([&](int64_t lane) { return to.o + lane * dim_v_; }, false);
    std::memcpy(to.m, w_.m, static_cast<size_t>(w_.lanes->count) * sizeof(float));
    std::memcpy(to.l, w_.l, static_cast<size_t>(w_.lanes->count) * sizeof(float));
  }

  const ForwardCall& call_;
  const Sequence& s_;
  const int64_t head_k_;
  const ForwardScratch& w_;
  const int64_t words_, dim_v_;
  const float scale_log2_;
  const bool options_;
  KeyRange range_[kMostGroups];
  bool fresh_[kMostGroups];                                // O of the group is not initialised yet
  bool wanted_[kMostGroups], again_ = false;               // groups to compute, and whether for the second time
  int64_t keys_first_ = 0, keys_last_ = 0, keys_end_ = 0;  // the item's keys; the attended ones end at keys_end_
  int64_t block_first_ = 0, block_count_ = 0;
  int values_finite_ = -1;  // of the current block: unknown, no, yes
  int64_t fetched_ = 0;     // keys of the next block that are prefetched, with AVX2
};

}  // namespace rapt::cpu::RAPT_TIER
