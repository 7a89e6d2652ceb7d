// Attention of a few query rows (one token of a group of heads, or a few tokens), bound by reading K and V once. So
// keys stay in memory order, and each key block is processed in three phases shared by all rows of the group: products,
// softmax, values.
#pragma once

#include "cpu/tiers/decode_tiles.hpp"
#include "cpu/tiers/decode_values.hpp"

namespace rapt::cpu::RAPT_TIER {

// The rows of one key head.
template <class T, class Layout>
class Decode {
  static constexpr bool kTiles = kDecodeTiles<T, Layout>, kDot = kDecodeDot<T> || kTiles;
  static constexpr int R = Layout::R, W = Layout::W;

 public:
  Decode(const ForwardCall& call, const Sequence& s, int64_t head_k, int64_t slot, const DecodeScratch& scratch)
      : call_(call),
        s_(s),
        head_k_(head_k),
        n_(call.group() * s.seqlen_q),
        groups_((n_ + R - 1) / R),
        q_row_(padded(words<kDot>(call.head_dim))),
        o_row_(decode_out_row(call)),
        options_(has_natural_logits(call)),
        scale_(static_cast<float>(call.scale) * (options_ ? 1.f : kLog2e)),
        w_(scratch) {
    w_.q += slot * kDecodeRows * padded(call.head_dim);
    w_.o += slot * kDecodeRows * o_row_;
    w_.m += slot * kDecodeRows * kLanes;
    w_.l += slot * kDecodeRows * kLanes;
  }

  // False if dot products with these queries may lose what counts.
  bool begin(bool with_sink) {
    Sizes sizes;
    for (int64_t r = 0; r < groups_ * R; ++r) {  // rows that pad a group are zero
      alignas(64) float q[kMaxHeadDim] = {};
      const float sink = with_sink && r < n_ ? early_sink(sink_of(call_, head(r))) : -INFINITY;
      if (r < n_) {
        const T* row = reinterpret_cast<const T*>(call_.q.data) + query_offset(call_.q, s_, query(r), head(r));
        copy_row<kDot>(row, call_.head_dim, q);
        if constexpr (kDot) sizes.add(row, call_.head_dim);
      }
      for (int64_t w = 0; w < q_row_; ++w) w_.q[q_at(r, w)] = q[w];
      std::memset(w_.o + r * o_row_, 0, static_cast<size_t>(o_row_) * sizeof(float));
      for (int64_t i = 0; i < W; ++i) {
        w_.m[Layout::at(groups_, r, i)] = options_ ? sink : sink * kLog2e;
        w_.l[Layout::at(groups_, r, i)] = i > 0 || sink == -INFINITY ? 0.f : 1.f;
      }
    }
    return !kDot || keeps_logits(call_, sizes);
  }

  void block(const DecodeBlock& rows, int64_t j0, DecodeAhead& ahead) {
    rows_ = rows;
    j0_ = j0;
    products(ahead);
    F most[kDecodeRows / R];
    bool excludes = finish_logits();
    excludes |= find_most(most);
    const bool careful = excludes && !rows_finite<T>(call_, call_.v, s_, j0, rows.count, head_k_, call_.head_dim_v);
    if (careful)
      for (int64_t i = 0; i < score_count(); ++i) w_.excluded[i] = w_.scores[i] == -INFINITY;
    for (int64_t g = 0; g < groups_; ++g) softmax(g, most[g]);
    if (call_.dropout != 0) drop();
    if (careful) return careful_values();
#if defined(__AMX_BF16__)
    if constexpr (kTiles)
      return TileDecode(rows_, w_.operand, ahead)
          .values(w_.scores, reinterpret_cast<float*>(w_.narrow), call_.head_dim_v, w_.o, o_row_);
#endif
    if constexpr (kDecodePairs<T, Layout>)
      for (int64_t i = 0; i < score_count(); i += kLanes) store16(w_.narrow + i, load(w_.scores + i));
    DecodeValues<T, Layout>(rows_, groups_, w_.scores, w_.narrow, call_.head_dim_v, w_.o, o_row_, ahead).run();
  }

  // Rows with keys [key_first, key_last). False if dot products with values may have lost what counts.
  bool write(const PartialRows* partial, int64_t key_first, int64_t key_last) const {
    for (int64_t r = 0; r < n_; ++r) write_row(r, partial);
    return !kBlockDot<T> ||  // the conversion of results takes denormals for 0 too
           keeps_values(largest_of(w_.o, n_ * o_row_), call_, s_, key_first, key_last, head_k_);
  }

 private:
  int64_t query(int64_t r) const { return r / call_.group(); }
  int64_t head(int64_t r) const { return head_k_ * call_.group() + r % call_.group(); }
  int64_t at(int64_t r, int64_t j) const { return Layout::at(groups_, r, j); }
  int64_t score_count() const { return (rows_.count + W - 1) / W * groups_ * kLanes; }
  int64_t q_at(int64_t r, int64_t w) const {
    if constexpr (kTiles) return w * R + r;
    else if constexpr (!Layout::kShared) return r * q_row_ + w;
    else return (w / W * groups_ + r / R) * kLanes + r % R * W + w % W;
  }

  void products(DecodeAhead& ahead) {
#if defined(__AMX_BF16__)
    if constexpr (kTiles) {
      const bool even = !call_.block_table && call_.k.seq % 2 == 0;
      return TileDecode(rows_, w_.operand, ahead)
          .products(even ? call_.k.seq / 2 : 0, w_.q, call_.head_dim, scale_, w_.scores);
    }
#endif
    if constexpr (!Layout::kShared)
      DirectProducts<T, R>::run(rows_, w_.q, call_.head_dim, scale_, w_.scores, w_.copies, ahead);
    else if (groups_ == 2) shared_products<2>(ahead);
    else if constexpr (R == 4) groups_ == 3 ? shared_products<3>(ahead) : shared_products<4>(ahead);
  }

  template <int G>
  void shared_products(DecodeAhead& ahead) {
    using Products = SharedProducts<T, R, G>;
    constexpr int64_t kElements = Products::kElements;
    const int64_t dim = call_.head_dim;
    const int64_t part =
        Products::kParts ? chain_length<kDot>(dim, (dim + kElements - 1) / kElements) * kElements : dim;
    Products::run(rows_, w_.q, std::min(part, dim), scale_, w_.scores, w_.copies, ahead);
    if constexpr (Products::kParts)
      for (int64_t first = part; first < dim; first += part) {
        DecodeBlock rows = rows_;
        rows.key_offset += first * static_cast<int64_t>(sizeof(T));
        Products::template run<true>(rows, w_.q + first / kElements * G * kLanes, std::min(part, dim - first), scale_,
                                     w_.scores, w_.copies, ahead);
      }
  }

  // Turns scaled products into logits. True if some key may be excluded.
  bool finish_logits() {
    if (options_) score_options();
    const int64_t all = (rows_.count + W - 1) / W * W;
    bool excludes = options_;
    for (int64_t r = 0; r < groups_ * R; ++r) {
      const int64_t i = std::min(query(r), s_.seqlen_q - 1);
      const int64_t begin = std::min(s_.key_begin(call_, i) - j0_, rows_.count), end = s_.key_end(call_, i) - j0_;
      excludes |= begin > 0 || end < rows_.count;
      for (int64_t j = 0; j < begin; ++j) w_.scores[at(r, j)] = -INFINITY;
      for (int64_t j = std::clamp<int64_t>(end, 0, rows_.count); j < all; ++j) w_.scores[at(r, j)] = -INFINITY;
    }
    return excludes;
  }

  // The lanes' largest logits. True if a logit is -Inf, which an Inf in q or K can cause too.
  bool find_most(F* most) const {
    const int64_t step = groups_ * kLanes, size = score_count();
    F least = splat(INFINITY);
    for (int64_t g = 0; g < groups_; ++g) {
      most[g] = splat(-INFINITY);
      for (int64_t i = g * kLanes; i < size; i += step) {
        const F s = load(w_.scores + i);
        most[g] = max(s, most[g]);
        least = min(s, least);
      }
    }
    return max_of(-least) == INFINITY;
  }

  __attribute__((noinline)) void score_options() {
    if (call_.softcap != 0)
      for (int64_t r = 0; r < n_; ++r) renew_near_cap_of(r);
    cap_logits(call_, w_.scores, score_count());
    for (int64_t r = 0; r < n_; ++r) row_options(r);
  }

  // As in near_cap.hpp, for scaled products.
  void renew_near_cap_of(int64_t r) {
    const float cap = static_cast<float>(call_.softcap);
    float most = 0;
    for (int64_t j = 0; j < rows_.count; ++j) most = std::max(most, std::fabs(w_.scores[at(r, j)]));
    if (!(most > kFar * cap)) return;
    const T* q = reinterpret_cast<const T*>(call_.q.data) + query_offset(call_.q, s_, query(r), head(r));
    for (int64_t j = 0; j < rows_.count; ++j)
      if (std::fabs(w_.scores[at(r, j)]) < kNear * cap)
        w_.scores[at(r, j)] =
            scale_ * exact_product(q, key_row<T>(call_, call_.k, s_, j0_ + j, head_k_), call_.head_dim);
  }

  void row_options(int64_t r) {
    float* s = w_.scores;
    if (call_.bias) {
      const int64_t from = score_offset(call_.bias, s_, query(r), head(r)) + j0_ * call_.bias.key;
      for (int64_t j = 0; j < rows_.count; ++j)
        s[at(r, j)] += read_float(call_.bias.data, call_.bias.dtype, from + j * call_.bias.key);
    }
    if (call_.alibi) {
      const float slope =
          reinterpret_cast<const float*>(call_.alibi.data)[s_.index * call_.alibi.batch + head(r) * call_.alibi.head];
      const float center = static_cast<float>(query(r) + s_.diagonal);
      for (int64_t j = 0; j < rows_.count; ++j) s[at(r, j)] -= slope * std::fabs(center - static_cast<float>(j0_ + j));
    }
    if (call_.mask) {
      const char* from = call_.mask.data + score_offset(call_.mask, s_, query(r), head(r)) + j0_ * call_.mask.key;
      for (int64_t j = 0; j < rows_.count; ++j)
        if (from[j * call_.mask.key] == 0) s[at(r, j)] = -INFINITY;
    }
  }

  // R rows together. m of a row is the same in all its lanes; l is the sum of its lanes.
  void softmax(int64_t g, F most) {
    float *s = w_.scores + g * kLanes, *m = w_.m + g * kLanes, *l = w_.l + g * kLanes;
    const int64_t step = groups_ * kLanes, size = score_count();
    const F old = load(m), now = max(part_max<W>(most), old), shift = now == splat(-INFINITY) ? F{} : now;
    const F unit = splat(maximum_log2(options_));
    F total = F{};
    for (int64_t i = 0; i < size; i += step) {
      const F e = exp2((load(s + i) - shift) * unit);
      total = total + e;
      store(s + i, e);
    }
    alignas(64) float alpha[kLanes];
    store(alpha, exp2((old - shift) * unit));
    store(m, now);
    store(l, fma(load(l), load(alpha), total));
    for (int64_t r = 0; r < R; ++r) {
      if (alpha[r * W] == 1) continue;
      float* o = w_.o + (g * R + r) * o_row_;
      for (int64_t x = 0; x < o_row_; x += kLanes) store(o + x, load(o + x) * splat(alpha[r * W]));
    }
  }

  __attribute__((noinline)) void drop() const {
    const uint32_t threshold = rapt_keep_threshold(call_.dropout);
    for (int64_t r = 0; r < n_; ++r) {
      const uint32_t row = static_cast<uint32_t>(query(r));
      const uint32_t stream = static_cast<uint32_t>(s_.index * call_.heads_q + head(r));
      for (int64_t j = 0; j < rows_.count; ++j) {
        const uint32_t column = static_cast<uint32_t>(j0_ + j);
        const rapt_philox_bits bits =
            rapt_philox(call_.dropout_seed, column / 4, row / 2, stream, static_cast<uint32_t>(call_.dropout_offset));
        if (rapt_philox_field(bits, row, column) >= threshold) w_.scores[at(r, j)] *= 0.f;  // NaN stays
      }
    }
  }

  // As in ForwardTile, excluded keys with Inf or NaN in V stay out of the sums.
  __attribute__((noinline)) void careful_values() {
    for (int64_t r = 0; r < n_; ++r)
      for (int64_t j = 0; j < rows_.count; ++j) {
        if (w_.excluded[at(r, j)]) continue;
        const T* v = rows_.value<T>(j);
        for (int64_t x = 0; x < call_.head_dim_v; ++x)
          w_.o[r * o_row_ + place(x)] += w_.scores[at(r, j)] * static_cast<float>(v[x]);
      }
  }

  static int64_t place(int64_t x) { return kDecodePairs<T, Layout> ? unpacked_place(x) : x; }

  void write_row(int64_t r, const PartialRows* partial) const {
    const int64_t dim = call_.head_dim_v;
    alignas(64) float o[kMaxHeadDim];
    const float scale = dropout_scale(call_);  // as in ForwardTile, not in P
    for (int64_t x = 0; x < dim; ++x) o[x] = scale * w_.o[r * o_row_ + place(x)];
    float m = w_.m[at(r, 0)], l = 0;
    for (int64_t i = 0; i < W; ++i) l += w_.l[at(r, i)];
    if (partial) {
      std::memcpy(partial->o + r * dim, o, static_cast<size_t>(dim) * sizeof(float));
      partial->m[r] = m;
      partial->l[r] = l;
      return;
    }
    if (call_.sink && join_last(sink_of(call_, head(r)), m, l)) std::fill_n(o, dim, 0.f);
    const float factor = l == 0 ? 0.f : 1 / l;
    T* out = reinterpret_cast<T*>(call_.out.data) + query_offset(call_.out, s_, query(r), head(r));
    for (int64_t x = 0; x < dim; x += kLanes) store_elements(out, x, dim, load(o + x) * splat(factor));
    if (call_.lse)
      reinterpret_cast<float*>(call_.lse.data)[lse_offset(call_.lse, s_, query(r), head(r))] =
          m * maximum_unit(options_) + std::log(l);
  }

  const ForwardCall& call_;
  const Sequence& s_;
  const int64_t head_k_, n_, groups_;
  const int64_t q_row_, o_row_;
  const bool options_;
  const float scale_;  // from products to logits in maximum_unit
  DecodeScratch w_;
  DecodeBlock rows_ = {};
  int64_t j0_ = 0;
};

// Key heads [first_head, first_head + heads) with keys [key_first, key_last). partial(slot) is where a head's rows go,
// or null for out and lse. False if dot products may have lost what counts.
template <class T, class Layout, class Partial>
inline bool decode_rows(const ForwardCall& call, const Sequence& s, int64_t first_head, int64_t heads,
                        int64_t key_first, int64_t key_last, bool with_sink, const DecodeScratch& scratch,
                        const Partial& partial) {
  const auto of_head = [&](int64_t slot) { return Decode<T, Layout>(call, s, first_head + slot, slot, scratch); };
  bool exact = true;
  for (int64_t slot = 0; slot < heads; ++slot) exact &= of_head(slot).begin(with_sink);
  int64_t begin = key_last, end = key_first;
  for (int64_t i = 0; i < s.seqlen_q; ++i) {
    begin = std::min(begin, std::max(s.key_begin(call, i), key_first));
    end = std::max(end, std::min(s.key_end(call, i), key_last));
  }
  const int64_t step = decode_keys(call), size = dtype_bytes(call.dtype);
  const auto find_rows = [&](const View& view, int64_t first, int64_t count, const char** rows) {
    if (count == 0) return;
    rows[0] = reinterpret_cast<const char*>(key_row<T>(call, view, s, first, first_head));
    for (int64_t j = 1; j < count; ++j)
      rows[j] = call.block_table ? reinterpret_cast<const char*>(key_row<T>(call, view, s, first + j, first_head))
                                 : rows[0] + j * view.seq * size;
  };
  const auto find_block = [&](int64_t first, int64_t count, const char** rows) {
    find_rows(call.k, first, count, rows);
    find_rows(call.v, first, count, rows + count);
  };
  const char** const rows = scratch.rows;
  const bool in_order = heads == 1 && !Layout::kShared;  // a row is read once, in the order of memory
  if (begin < end) find_block(begin, std::min(step, end - begin), rows);
  const int64_t k_bytes = ((heads - 1) * call.k.head + call.head_dim) * size;
  const int64_t v_bytes = ((heads - 1) * call.v.head + call.head_dim_v) * size;
  for (int64_t j = begin; j < end; j += step) {
    const int64_t count = std::min(step, end - j), after = std::min(step, end - j - count);
    find_block(j + count, after, rows + 2 * count);
    DecodeAhead ahead(rows, count, after, in_order ? std::min(kDecodeLead / k_bytes + 1, count) : 2 * count, k_bytes,
                      v_bytes);
    for (int64_t slot = 0; slot < heads; ++slot)
      of_head(slot).block({rows, rows + count, slot * call.k.head * size, slot * call.v.head * size, count}, j, ahead);
    std::memmove(rows, rows + 2 * count, static_cast<size_t>(2 * after) * sizeof *rows);
  }
  for (int64_t slot = 0; slot < heads; ++slot) exact &= of_head(slot).write(partial(slot), begin, std::max(begin, end));
  return exact;
}

template <class T, class Partial>
inline bool decode(const ForwardCall& call, const Sequence& s, int64_t first_head, int64_t heads, int64_t key_first,
                   int64_t key_last, bool with_sink, const DecodeScratch& scratch, const Partial& partial) {
  const int64_t rows = call.group() * s.seqlen_q;
  constexpr bool kTiles = kDecodeTiles<T, TileRows>;
  const auto run = [&](const auto& with_rows) {
    return with_rows(call, s, first_head, heads, key_first, key_last, with_sink, scratch, partial);
  };
  if (rows == 1) return run(decode_rows<T, DecodeRows<1, false>, Partial>);
  if (rows == 2) return run(decode_rows<T, DecodeRows<2, false>, Partial>);
  if (rows < kLeastTileRows) return run(decode_rows<T, DecodeRows<2, true>, Partial>);
  return run(decode_rows<T, std::conditional_t<kTiles, TileRows, DecodeRows<4, true>>, Partial>);
}

}  // namespace rapt::cpu::RAPT_TIER
