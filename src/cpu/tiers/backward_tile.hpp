// The gradients of one key range: FlashAttention-2's backward (Dao, 2023) with queries in lanes, five products per
// tile.
//   S^T = K Q^T, P = exp(S - lse), dP^T = V dO^T, dS = P (dP - delta)
//   dV += P^T dO, dK += dS^T Q, dQ^T += K^T dS^T
//
// Q^T, dO^T and dQ^T are [groups][words or dim][kGroupLanes]. Q and dO are [queries][dim], in bf16 pairs of rows. P and
// dS are [keys][kBlockRow]; in bf16 dQ reads dS as pairs of keys too. dK and dV are of the whole range, in fp32.
#pragma once

#include "cpu/tiers/backward_operands.hpp"
#include "cpu/tiers/backward_queries.hpp"
#include "cpu/tiers/sum_tree.hpp"

namespace rapt::cpu::RAPT_TIER {

template <class T>
class BackwardTile {
  static constexpr bool kDot = kBlockDot<T>, kTiles = kDot && kHasTiles;

 public:
  BackwardTile(const BackwardCall& call, const Sequence& s, int64_t head_k, const BackwardScratch& scratch,
               const BackwardRange& keys)
      : call_(call),
        s_(s),
        head_k_(head_k),
        w_(scratch),
        keys_(keys),
        words_(lane_words<T>(call.head_dim)),
        words_v_(lane_words<T>(call.head_dim_v)),
        row_(gradient_row(call.head_dim)),
        row_v_(gradient_row(call.head_dim_v)),
        q_row_(apart(row_)),
        do_row_(apart(row_v_)),
        scale_log2_(static_cast<float>(call.scale) * kLog2e),
        options_(has_score_options(call)) {}

  // Sets the tile's queries: [first, first + n) of a head. `make` says that their operands are not made yet.
  void begin(int64_t head, int64_t first, int64_t n, const QueryOperands& operands, bool make) {
    o_ = &operands;
    w_.lanes->set(call_, s_, {head, 1}, first, n);
    w_.alibi->set(call_, s_, *w_.lanes);
    if (make) make_operands<T>(call_, s_, w_, *o_, head, n);
    for (int64_t g = 0; g < w_.lanes->groups; ++g) range_[g] = key_range(*w_.lanes, g);
  }

  // These queries against keys [first, last) of a part: dK, dV and dBias are added to the sums, dQ
  // [groups][head_dim][kGroupLanes] to the tree. Blocks of keys and their strips are the same whatever the range.
  void keys(int64_t first, int64_t last, const SumTree::Part& part) {
    const int64_t step = key_block(call_);
    part_ = &part;
    begun_ = false;
    for (int64_t j = first / kStrip * kStrip, next; j < last; j = next) {
      next = std::min(j + step - j % step, last);
      ends_ = next == last;
      key_block_step(j, next - j);
      begun_ = true;
    }
  }

  // Memory that is needed after the next keys, or null. Other cores have it, so each line is asked for early, one at a
  // time between exponentials.
  void fetch(const float* memory, int64_t floats) {
    fetch_ = memory;
    fetch_end_ = memory ? memory + floats : nullptr;
  }

  // False if dot products may have lost what counts.
  bool exact() const { return exact_; }

  // The block's part of -dSink: sum over its rows of exp(sink - lse) * delta. A sink of -Inf has no weight in any row,
  // not even where delta is NaN.
  double sink_sum(float sink) const {
    double total = 0;
    for (int64_t at = 0; at < w_.lanes->count && sink != -INFINITY; ++at) {
      const float weight = sink == o_->lse[at] ? 1.f : std::exp(sink - o_->lse[at]);  // both may be infinite
      total += static_cast<double>(weight) * static_cast<double>(o_->delta[at]);
    }
    return total;
  }

 private:
  int64_t dq_floats() const { return call_.head_dim * kGroupLanes; }  // of one group

  const T* query(const View& view, int64_t lane) const { return query_row<T>(view, s_, *w_.lanes, lane); }

  // Whether these keys' K and V hold no Inf or NaN.
  bool keys_finite(int64_t j0, int64_t count) {
    return range_finite() || (rows_finite<T>(call_, call_.k, s_, j0, count, head_k_, call_.head_dim) &&
                              rows_finite<T>(call_, call_.v, s_, j0, count, head_k_, call_.head_dim_v));
  }
  // The same of the whole range, which is looked at once.
  bool range_finite() {
    if (range_finite_ >= 0) return range_finite_ != 0;
    if constexpr (kDot) {
      of_range_ = sizes_of_keys(keys_.first_key, keys_.count);
      range_finite_ = of_range_.finite();
    } else {
      range_finite_ = rows_finite<T>(call_, call_.k, s_, keys_.first_key, keys_.count, head_k_, call_.head_dim) &&
                      rows_finite<T>(call_, call_.v, s_, keys_.first_key, keys_.count, head_k_, call_.head_dim_v);
    }
    return range_finite_ != 0;
  }

  struct KeySizes {
    Sizes k, v;
    bool finite() const { return k.finite() && v.finite(); }
    bool has_denormal() const { return k.has_denormal() || v.has_denormal(); }
  };
  KeySizes sizes_of_keys(int64_t first, int64_t count) const {
    KeySizes sizes;
    add_sizes(sizes.k, call_, call_.k, s_, first, count, head_k_, call_.head_dim);
    add_sizes(sizes.v, call_, call_.v, s_, first, count, head_k_, call_.head_dim_v);
    return sizes;
  }

  // Whether dot products of these keys with the queries lose nothing that counts, once P is made.
  bool keeps_all(int64_t j0, int64_t count) {
    range_finite();
    const QuerySizes& q = *o_->sizes;
    if (q.denormal || std::fabs(call_.scale) > 0x1p30) return false;
    if (of_range_.has_denormal() && sizes_of_keys(j0, count).has_denormal()) return false;
    return GradientSizes{q.q, of_range_.k.most(), of_range_.v.most(), q.dout, q.sunk ? most_p_ : 1}.keeps();
  }

  void key_block_step(int64_t j0, int64_t count) {
    block_first_ = j0;
    block_count_ = count;
    const Rows k = rows_of(call_.k, keys_.k, j0, count, call_.head_dim, w_.keys),
               v = rows_of(call_.v, keys_.v, j0, count, call_.head_dim_v, w_.values);
    careful_ = !(*o_->finite && keys_finite(j0, count));
    excludes_ = false;
    most_p_ = 0;
    for (int64_t g = 0; g < w_.lanes->groups; ++g)
      for (int64_t j = 0; j < count; j += kStrip)
        if (careful_ || attends(g, j0 + j, std::min(kStrip, count - j))) strip(g, j, std::min(kStrip, count - j), k, v);
    if constexpr (kDot) exact_ = exact_ && keeps_all(j0, count);
    excludes_ ? careful_products(j0, count) : products(j0, count, k);
  }

  Rows rows_of(const View& view, const float* of_range, int64_t j0, int64_t count, int64_t dim, float* scratch) const {
    if (!of_range) return block_rows<kDot, T, kTiles>(call_, view, s_, j0, count, head_k_, dim, scratch);
    const int64_t row = apart(padded(dim));
    return {of_range + (j0 - keys_.first_key) * row, row};
  }

  // Does some lane of the group attend some of these keys?
  bool attends(int64_t g, int64_t j0, int64_t count) const {
    return j0 < range_[g].end && j0 + count > range_[g].begin;
  }

  // Does some lane of the group not attend some of these keys?
  bool masked(int64_t g, int64_t j0, int64_t count) const {
    return j0 < range_[g].all_begin || j0 + count > range_[g].all_end;
  }

  // A strip of P or dS while it is being made: floats in the block itself, bf16 in L1 until they are narrowed.
  struct Strip {
    float* data;
    int64_t row;
    float* at(int64_t r, int vector) const { return data + r * row + vector * kLanes; }
  };
  Strip strip_of(float* own, float* block, int64_t g, int64_t j) const {
    if constexpr (kDot) return {own, kGroupLanes};
    return {block + j * kBlockRow + g * kGroupLanes, kBlockRow};
  }

  // Products along head_dim of rows of K or V with the lanes of a group. Tiles always take 16 rows: otherwise the order
  // of summation would depend on the row.
  RAPT_INLINE void dots(int64_t rows, const float* a, int64_t a_row, const float* lanes, int64_t dim,
                        const Strip& to) const {
#if defined(__AMX_BF16__)
    if constexpr (kTiles)
      return tile_product<false>((rows + kTileRows - 1) / kTileRows * kTileRows, a, a_row, lanes, kGroupLanes,
                                 lane_words<T>(dim), to.data, to.row);
#endif
    column_of_dots<kDot, Out::store>(rows, a, a_row, lanes, kGroupLanes, dim, to.data, to.row);
  }

  // P and dS of `rows` keys from the block's key `j` on, for one group.
  void strip(int64_t g, int64_t j, int64_t rows, const Rows& k, const Rows& v) {
    const int64_t key = block_first_ + j, lane0 = g * kGroupLanes;
    const Strip s = strip_of(w_.s, w_.p_block, g, j), ds = strip_of(w_.ds, w_.ds_block, g, j);
    dots(rows, k.data + j * k.row, k.row, o_->q_lanes + g * words_ * kGroupLanes, call_.head_dim, s);
    dots(rows, v.data + j * v.row, v.row, o_->do_lanes + g * words_v_ * kGroupLanes, call_.head_dim_v, ds);
    if (options_ || careful_ || masked(g, key, rows) || call_.dropout != 0) {
      special_strip(g, j, rows, s, ds);
    } else {
      F shift[kVectors], rest[kVectors], delta[kVectors];
      for (int i = 0; i < kVectors; ++i) {
        shift[i] = load(o_->shift + lane0 + i * kLanes);
        rest[i] = load(o_->shift_rest + lane0 + i * kLanes);
        delta[i] = load(o_->delta + lane0 + i * kLanes);
      }
      const F c = splat(scale_log2_);
      _Pragma("GCC unroll 2") for (int64_t r = 0; r < rows; ++r) {
        if (fetch_ < fetch_end_) {
          prefetch_for_writing(fetch_);
          fetch_ += kFloatsOfLine;
        }
        RAPT_UNROLL for (int i = 0; i < kVectors; ++i) {
          const F x = load(s.at(r, i)), p = exp2_subnormal(fms(x, c, shift[i]) - rest[i]);
          store(s.at(r, i), p);
          store(ds.at(r, i), p * (load(ds.at(r, i)) - delta[i]));
        }
      }
    }
    if constexpr (kDot) {
      if (o_->sizes->sunk) most_p_ = std::max(most_p_, largest_of(w_.s, rows * kGroupLanes));
      narrow_strip(w_, lane0, j, rows);
    }
  }

  // Like the plain strip, with options and dropout, and exactly 0 for excluded keys, even if their V is Inf or NaN. P
  // is at most 1, however far the rounding of huge logits moves them above lse.
  __attribute__((noinline)) void special_strip(int64_t g, int64_t j, int64_t rows, const Strip& s, const Strip& ds) {
    const int64_t key = block_first_ + j, lane0 = g * kGroupLanes;
    const bool drops = call_.dropout != 0;
    special_logits(g, key, rows, s);
    if (drops) dropout_factors(call_, s_, *w_.lanes, g, key, rows, dropout_scale(call_), w_.factors);
    F varies[kVectors];
    for (int i = 0; i < kVectors; ++i) varies[i] = probability_varies(lane0 + i * kLanes);
    for (int64_t r = 0; r < rows; ++r)
      for (int i = 0; i < kVectors; ++i) {
        const int64_t lane = lane0 + i * kLanes;
        const F logit = load(s.at(r, i)), lse = load(o_->lse + lane);
        const I excluded = (logit == splat(-INFINITY)) | (lse == splat(INFINITY));
        const F p = excluded ? F{} : exp2_subnormal(min(F{}, (logit - lse) * splat(kLog2e)));
        F dropped = p, dp = load(ds.at(r, i));
        if (drops) {
          const F keep = load(w_.factors + r * kGroupLanes + i * kLanes);
          dropped = p * keep;
          dp = dp * keep;
        }
        const F gradient = p * varies[i] * (dp - load(o_->delta + lane));
        store(s.at(r, i), dropped);
        store(ds.at(r, i), excluded ? F{} : gradient);
        const I adds_nothing = (dropped == F{}) & (gradient == F{});  // the only key of a row may be dropped
        if (careful_) note_excluded(excluded | adds_nothing, w_.excluded + (j + r) * kQueryBlock + lane);
      }
    if (keys_.dbias) add_dbias(g, key, rows, ds);
    cap_gradient(call_, w_.capped, ds.data, ds.row, rows);
  }

  void note_excluded(I excluded, bool* to) {
    for (int at = 0; at < kLanes; ++at) {
      to[at] = excluded[at] != 0;
      excludes_ |= to[at];
    }
  }

  // 0 in rows that attend one key, whose probability is 1 whatever the logit, else 1. Only dropout needs it in float32:
  // its scale is rounded into O, so that dP - delta is not exactly 0. (A rounded 16-bit O moves delta, as it should.)
  F probability_varies(int64_t lane) const {
    const F always = splat(1);
    if (!std::is_same_v<T, float> || call_.dropout == 0 || call_.sink) return always;
    return load_int(w_.lanes->key_end + lane) - load_int(w_.lanes->key_begin + lane) == 1 ? F{} : always;
  }

  void special_logits(int64_t g, int64_t key, int64_t rows, const Strip& s) {
    renew_near_cap<T>(call_, s_, *w_.lanes, head_k_, g, key, rows, s.data, s.row);
    keep_slopes(call_, s.data, s.row, rows, w_.capped);
    apply_score_options(call_, s_, *w_.lanes, *w_.alibi, g, key, rows, w_.added, s.data, s.row);
    apply_edges(*w_.lanes, g, key, rows, s.data, s.row);
  }

  __attribute__((noinline)) void add_dbias(int64_t g, int64_t key, int64_t rows, const Strip& ds) {
    for (int64_t lane = 0; lane < kGroupLanes; ++lane) {
      const int64_t at = g * kGroupLanes + lane;
      if (at >= w_.lanes->count) break;
      float* to = keys_.dbias + s_.index * keys_.dbias_batch + w_.lanes->head[at] * keys_.dbias_head +
                  w_.lanes->query[at] * keys_.dbias_query + key * keys_.dbias_key;
      for (int64_t r = 0; r < rows; ++r) to[r * keys_.dbias_key] += ds.data[r * ds.row + lane];
    }
  }

  // A strip is skipped for groups that do not attend it. The groups that attend a strip are contiguous, because ranges
  // grow with the query.
  void products(int64_t j0, int64_t count, const Rows& k) {
    const int64_t block_row = kDot ? kQueryBlock / 2 : kBlockRow, groups = w_.lanes->groups;
    for (int64_t j = 0; j < count;) {
      const auto run_of = [&](int64_t at) {
        const int64_t rows = std::min(kStrip, count - at);
        int64_t first = 0, last = groups;
        while (first < last && !attends(first, j0 + at, rows)) ++first;
        while (first < last && !attends(last - 1, j0 + at, rows)) --last;
        return std::pair{first, last};
      };
      const auto [first, last] = run_of(j);
      int64_t end = std::min(j + kStrip, count);
      while (end < count && run_of(end) == std::pair{first, last}) end = std::min(end + kStrip, count);
      const int64_t skip = first * kGroupLanes / (kDot ? 2 : 1), depth = (last - first) * kGroupLanes / (kDot ? 2 : 1);
      const int64_t from = j * block_row + skip, at = j0 + j - keys_.first_key;
      accumulate<kDot>(end - j, row_v_ / kLanes, w_.p_block + from, block_row, 1, o_->do_rows + skip * do_row_, do_row_,
                       depth, keys_.dv + at * row_v_, row_v_);
      accumulate<kDot>(end - j, row_ / kLanes, w_.ds_block + from, block_row, 1, o_->q_rows + skip * q_row_, q_row_,
                       depth, keys_.dk + at * row_, row_);
      j = end;
    }
    add_dq(j0, count, k);
  }

  void add_dq(int64_t j0, int64_t count, const Rows& k) {
    Rows keys = k;
    if constexpr (kTiles) {
#if defined(__AMX_BF16__)
      keys = transposed_keys(call_, s_, j0, count, head_k_, w_.key_pairs);
#endif
    } else if constexpr (kDot) {
#if defined(__AVX512BF16__)
      for (int64_t j = 0; j < count; j += 2)
        interleave_rows(key_row<Bf16>(call_, call_.k, s_, j0 + j, head_k_),
                        j + 1 < count ? key_row<Bf16>(call_, call_.k, s_, j0 + j + 1, head_k_) : nullptr,
                        call_.head_dim, w_.key_pairs + j / 2 * row_);
#endif
      keys = {w_.key_pairs, row_};
    }
    for (int64_t g = 0; g < w_.lanes->groups; ++g) {
      int64_t first = 0, last = count;  // the strips that were computed
      while (first < last && !attends(g, j0 + first, std::min(kStrip, count - first))) first += kStrip;
      while (first < last && !attends(g, j0 + (last - 1) / kStrip * kStrip, kStrip))
        last = (last - 1) / kStrip * kStrip;
      const int64_t skip = kDot ? first / 2 : first, depth = kDot ? (last - first + 1) / 2 : last - first;
      const float* ds = (kDot ? w_.ds_pairs : w_.ds_block) + skip * kBlockRow + g * kGroupLanes;
      float* dq = part_->sum + g * dq_floats();
      if (first < last)
        begun_ ? group_dq<Out::add>(keys, skip, depth, ds, dq) : group_dq<Out::begin>(keys, skip, depth, ds, dq);
      else if (!begun_) std::memset(dq, 0, static_cast<size_t>(dq_floats()) * sizeof(float));
      if (ends_) add_lefts(g * dq_floats(), dq_floats());
    }
  }

  template <Out kOut>
  RAPT_INLINE void group_dq(const Rows& keys, int64_t skip, int64_t depth, const float* ds, float* dq) const {
#if defined(__AMX_BF16__)
    if constexpr (kTiles)
      return column_of_tiles<kOut>(call_.head_dim, keys.data + skip, keys.row, ds, kBlockRow,
                                   (depth + kTileWords - 1) / kTileWords * kTileWords, dq, kGroupLanes);
#endif
    column<kDot, kOut>(call_.head_dim, keys.data + skip * keys.row, 1, keys.row, ds, kBlockRow, depth, dq, kGroupLanes);
  }

  // Adds the sums that this part completes in the tree, while a group's sum is in L1.
  void add_lefts(int64_t from, int64_t count) const {
    for (int i = 0; i < part_->count; ++i) add_floats(part_->lefts[i] + from, count, part_->sum + from);
  }

  // The three products over only the attended pairs, for rows with Inf or NaN that some pair must not read.
  __attribute__((noinline)) void careful_products(int64_t j0, int64_t count) {
    const int64_t floats = w_.lanes->groups * dq_floats();
    if (!begun_) std::memset(part_->sum, 0, static_cast<size_t>(floats) * sizeof(float));
    for (int64_t j = 0; j < count; ++j) {
      const T* k = key_row<T>(call_, call_.k, s_, j0 + j, head_k_);
      float *dk = keys_.dk + (j0 + j - keys_.first_key) * row_, *dv = keys_.dv + (j0 + j - keys_.first_key) * row_v_;
      for (int64_t lane = 0; lane < w_.lanes->count; ++lane) {
        const int64_t at = j * kQueryBlock + lane;
        if (w_.excluded[at]) continue;
        const int64_t word = j * kBlockRow + lane;
        const float p = kDot ? static_cast<float>(reinterpret_cast<const Bf16*>(w_.p_block)[at]) : w_.p_block[word];
        const float ds = kDot ? static_cast<float>(reinterpret_cast<const Bf16*>(w_.ds_block)[at]) : w_.ds_block[word];
        const T *q = query(call_.q, lane), *dout = query(call_.dout, lane);
        float* dq = part_->sum + lane / kGroupLanes * dq_floats() + lane % kGroupLanes;
        for (int64_t x = 0; x < call_.head_dim_v; ++x) dv[x] += p * static_cast<float>(dout[x]);
        for (int64_t x = 0; x < call_.head_dim; ++x) {
          dk[x] += ds * static_cast<float>(q[x]);
          dq[x * kGroupLanes] += ds * static_cast<float>(k[x]);
        }
      }
    }
    if (ends_) add_lefts(0, floats);
  }

  const BackwardCall& call_;
  const Sequence& s_;
  const int64_t head_k_;
  const BackwardScratch& w_;
  const BackwardRange& keys_;
  const int64_t words_, words_v_, row_, row_v_, q_row_, do_row_;
  const float scale_log2_;
  const bool options_;
  KeyRange range_[kMostGroups];
  const QueryOperands* o_ = nullptr;  // of the tile's queries
  const SumTree::Part* part_ = nullptr;
  const float *fetch_ = nullptr, *fetch_end_ = nullptr;
  bool begun_ = false, ends_ = false;  // the part had a block before this one; this one is its last
  int64_t block_first_ = 0, block_count_ = 0;
  int range_finite_ = -1;  // unknown, no, yes
  KeySizes of_range_;      // for dot products, with range_finite_
  float most_p_ = 0;       // the block's largest P, if sinks leave little
  bool exact_ = true;
  bool careful_ = false;   // the block's queries or keys hold Inf or NaN
  bool excludes_ = false;  // and some pair of such a query and key must not be read
};

}  // namespace rapt::cpu::RAPT_TIER
