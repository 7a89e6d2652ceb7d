// Attention of a few query rows (one token of a group of heads, or a few tokens): bound by reading K and V once, so
// keys lie in the order of memory, lanes run along head_dim, and each key block is passed over in three phases:
// products, softmax, values. All rows of the group share each pass.
#pragma once

#include "cpu/forward_tile.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kDecodeRows = 16;
inline constexpr int64_t kDecodeKeys = 256;
inline constexpr int64_t kMostDecodeHeads = 32;
inline constexpr int64_t kDecodeBlockBytes = 64
                                             << 10;  // of K and V: with the next block, what is asked for ahead, in L2

// Key heads that lie side by side in a row of the cache are read together, so that memory is read in its own order.
inline int64_t decode_heads(const Call& call) {
  const bool side_by_side = call.k.head <= call.head_dim * 2 && call.k.seq >= call.k.head * call.heads_k;
  int64_t heads = side_by_side ? std::min(call.heads_k, kMostDecodeHeads) : 1;
  while (call.heads_k % heads != 0) --heads;
  return heads;
}

inline int64_t decode_keys(const Call& call) {
  const int64_t row = decode_heads(call) * (call.head_dim + call.head_dim_v) * dtype_bytes(call.dtype);
  return std::clamp<int64_t>(kDecodeBlockBytes / row / kLanes * kLanes, kLanes, kDecodeKeys);
}

struct DecodeScratch {
  float *q, *o, *m, *l;  // of each head
  float* scores;         // [rows][keys]
  Bf16* narrow;          // the same as bf16, where P V is a product of pairs
  const char** rows;     // the block's keys, then its values
  bool* excluded;        // [rows][keys]

  DecodeScratch(const Call& call, Scratch& carve) {
    const int64_t rows_of_heads = decode_heads(call) * kDecodeRows;
    q = carve.take<float>(rows_of_heads * padded(call.head_dim));
    o = carve.take<float>(rows_of_heads * padded(call.head_dim_v));
    m = carve.take<float>(rows_of_heads);
    l = carve.take<float>(rows_of_heads);
    scores = carve.take<float>(kDecodeRows * kDecodeKeys);
    narrow = carve.take<Bf16>(kDecodeRows * kDecodeKeys);
    rows = carve.take<const char*>(2 * kDecodeKeys);
    excluded = carve.take<bool>(kDecodeRows * kDecodeKeys);
  }
};

// Walks the next block in the order of memory, one row's piece at a time, while this block is worked on.
template <class T>
class DecodeAhead {
 public:
  DecodeAhead(const ForwardCall& call, const Sequence& s, int64_t first_head, int64_t heads)
      : call_(call), s_(s), first_head_(first_head), heads_(heads) {}

  void begin(int64_t first_key, int64_t count) {
    key_ = first_key;
    end_ = first_key + count;
    first_ = first_key;
    head_ = 0;
    of_values_ = false;
  }
  RAPT_INLINE void step() {
    if (key_ >= end_) return;
    const T* row = of_values_ ? key_row<T>(call_, call_.v, s_, key_, first_head_ + head_)
                              : key_row<T>(call_, call_.k, s_, key_, first_head_ + head_);
    const char* bytes = reinterpret_cast<const char*>(row);
    const int64_t size = (of_values_ ? call_.head_dim_v : call_.head_dim) * static_cast<int64_t>(sizeof(T));
    for (int64_t x = 0; x < size; x += 64) prefetch_far(bytes + x);
    if (++head_ < heads_) return;
    head_ = 0;
    if (++key_ < end_ || of_values_) return;
    of_values_ = true;
    key_ = first_;
  }

 private:
  const ForwardCall& call_;
  const Sequence& s_;
  const int64_t first_head_, heads_;
  int64_t first_ = 0, key_ = 0, end_ = 0, head_ = 0;
  bool of_values_ = false;
};

// The rows of one key head.
template <class T>
class Decode {
  static constexpr bool kDot = kDotType<T>;

 public:
  Decode(const ForwardCall& call, const Sequence& s, int64_t head_k, int64_t slot, const DecodeScratch& scratch,
         DecodeAhead<T>& ahead)
      : call_(call),
        s_(s),
        head_k_(head_k),
        n_(call.group() * s.seqlen_q),
        words_(words<kDot>(call.head_dim)),
        q_row_(padded(words_)),
        o_row_(padded(call.head_dim_v)),
        scale_log2_(static_cast<float>(call.scale) * kLog2e),
        options_(has_score_options(call)),
        ahead_(ahead),
        w_(scratch) {
    w_.q += slot * kDecodeRows * padded(call.head_dim);
    w_.o += slot * kDecodeRows * o_row_;
    w_.m += slot * kDecodeRows;
    w_.l += slot * kDecodeRows;
  }

  void begin(bool with_sink) {
    for (int64_t r = 0; r < kDecodeRows; ++r) {  // rows that pad a tile are zero
      float* q = w_.q + r * q_row_;
      std::memset(q, 0, static_cast<size_t>(q_row_) * sizeof(float));
      std::memset(w_.o + r * o_row_, 0, static_cast<size_t>(o_row_) * sizeof(float));
      if (r >= n_) continue;
      copy_row<kDot>(reinterpret_cast<const T*>(call_.q.data) + query_offset(call_.q, s_, query(r), head(r)),
                     call_.head_dim, q);
      const float sink =
          with_sink ? kLog2e * read_float(call_.sink.data, call_.sink.dtype, head(r) * call_.sink.head) : -INFINITY;
      w_.m[r] = sink;
      w_.l[r] = sink == -INFINITY ? 0.f : 1.f;
    }
  }

  void block(int64_t j0, int64_t count) {
    j0_ = j0;
    count_ = count;
    for (int64_t j = 0; j < count; ++j) {
      w_.rows[j] = reinterpret_cast<const char*>(key_row<T>(call_, call_.k, s_, j0 + j, head_k_));
      w_.rows[count + j] = reinterpret_cast<const char*>(key_row<T>(call_, call_.v, s_, j0 + j, head_k_));
    }
    if (n_ == 1) products<1>();
    else if (n_ == 2) products<2>();
    else products<4>();
    bool excludes = false;
    for (int64_t r = 0; r < n_; ++r) excludes |= finish_logits(r);
    const bool careful = excludes && !rows_finite<T>(call_, call_.v, s_, j0, count, head_k_, call_.head_dim_v);
    for (int64_t r = 0; r < n_; ++r) softmax(r, careful);
    if (careful) careful_values();
    else if (pairs()) value_pairs();
    else if (n_ == 1) values<1, 8>();
    else if (n_ == 2) values<2, 8>();
    else values<4, 4>();
  }

  void write(const PartialRows* partial) const {
    for (int64_t r = 0; r < n_; ++r) write_row(r, partial);
  }

 private:
  int64_t query(int64_t r) const { return r / call_.group(); }
  int64_t head(int64_t r) const { return head_k_ * call_.group() + r % call_.group(); }

  // scores[r][j] = q[r] . k[j]: RT rows by kLanes / RT keys give kLanes sums, which one reduction finishes.
  template <int RT>
  __attribute__((noinline)) void products() {
    constexpr int KT = kLanes / RT;
    const int64_t full = call_.head_dim / (kDot ? 2 * kLanes : kLanes), all = q_row_ / kLanes;
    for (int64_t j = 0; j < count_; j += KT) {
      const T* k[KT];
      for (int i = 0; i < KT; ++i) k[i] = reinterpret_cast<const T*>(w_.rows[std::min(j + i, count_ - 1)]);
      for (int64_t r0 = 0; r0 < n_; r0 += RT) {
        F acc[kLanes] = {};
        const float* q = w_.q + r0 * q_row_;
        if constexpr (RT < 4) {  // bound by memory: row by row, as it has them
          RAPT_UNROLL for (int i = 0; i < KT; ++i) {
            ahead_.step();
            for (int64_t c = 0; c < full; ++c) step<RT>(acc, i, q + c * kLanes, key_words(k[i], c));
          }
        } else {  // bound by arithmetic: every load of q serves all the tile's keys
          for (int i = 0; i < KT && r0 == 0; ++i) ahead_.step();
          for (int64_t c = 0; c < full; ++c) {
            RAPT_UNROLL for (int i = 0; i < KT; ++i) step<RT>(acc, i, q + c * kLanes, key_words(k[i], c));
          }
        }
        if (full < all)
          RAPT_UNROLL for (int i = 0; i < KT; ++i)
              step<RT>(acc, i, q + full * kLanes, load_words<kDot>(k[i], full * kLanes, call_.head_dim));
        alignas(64) float out[kLanes];
        store(out, sums(acc));
        RAPT_UNROLL for (int r = 0; r < RT; ++r)
            std::memcpy(w_.scores + (r0 + r) * kDecodeKeys + j, out + r * KT, KT * sizeof(float));
      }
    }
  }

  static RAPT_INLINE F key_words(const T* row, int64_t c) {
    if constexpr (kDot) {
      F v;
      std::memcpy(&v, row + 2 * c * kLanes, sizeof v);
      return v;
    } else {
      return load_as_float(row + c * kLanes);
    }
  }

  // acc[r][key i] += q[r] k
  template <int RT>
  RAPT_INLINE void step(F* acc, int i, const float* q, F k) const {
    constexpr int KT = kLanes / RT;
    RAPT_UNROLL for (int r = 0; r < RT; ++r) acc[r * KT + i] =
        multiply_add<kDot>(acc[r * KT + i], load(q + r * q_row_), k);
  }

  // Turns row r's products into log2-domain logits. True if some key may be excluded.
  bool finish_logits(int64_t r) {
    float* s = w_.scores + r * kDecodeKeys;
    const int64_t begin = s_.key_begin(call_, query(r)) - j0_, end = s_.key_end(call_, query(r)) - j0_;
    for (int64_t j = 0; j < count_; j += kLanes) store(s + j, load(s + j) * splat(scale_log2_));
    if (options_) score_options(r, s);
    for (int64_t j = 0; j < std::min(begin, count_); ++j) s[j] = -INFINITY;
    for (int64_t j = std::max<int64_t>(end, 0); j < count_; ++j) s[j] = -INFINITY;
    for (int64_t j = count_; j < padded(count_); ++j) s[j] = -INFINITY;
    return options_ || begin > 0 || end < count_;
  }

  __attribute__((noinline)) void score_options(int64_t r, float* s) {
    if (call_.softcap != 0) {
      const float cap = static_cast<float>(call_.softcap) * kLog2e;
      for (int64_t j = 0; j < count_; j += kLanes) store(s + j, splat(cap) * tanh(load(s + j) * splat(1 / cap)));
    }
    if (call_.bias) {
      const int64_t from = score_offset(call_.bias, s_, query(r), head(r)) + j0_ * call_.bias.key;
      for (int64_t j = 0; j < count_; ++j) {
        const float b = read_float(call_.bias.data, call_.bias.dtype, from + j * call_.bias.key);
        s[j] = b == -INFINITY ? b : s[j] + kLog2e * b;
      }
    }
    if (call_.alibi) {
      const float slope = kLog2e * reinterpret_cast<const float*>(
                                       call_.alibi.data)[s_.index * call_.alibi.batch + head(r) * call_.alibi.head];
      const float center = static_cast<float>(query(r) + s_.diagonal);
      for (int64_t j = 0; j < count_; ++j) s[j] -= slope * std::fabs(center - static_cast<float>(j0_ + j));
    }
    if (call_.mask) {
      const char* from = call_.mask.data + score_offset(call_.mask, s_, query(r), head(r)) + j0_ * call_.mask.key;
      for (int64_t j = 0; j < count_; ++j)
        if (from[j * call_.mask.key] == 0) s[j] = -INFINITY;
    }
  }

  void softmax(int64_t r, bool careful) {
    float* s = w_.scores + r * kDecodeKeys;
    F most = splat(-INFINITY);
    for (int64_t j = 0; j < count_; j += kLanes) most = max(load(s + j), most);
    const float now = std::max(w_.m[r], max_of(most)), shift = now == -INFINITY ? 0.f : now;
    const float alpha = std::exp2(w_.m[r] - shift);
    w_.m[r] = now;
    if (careful)
      for (int64_t j = 0; j < count_; ++j) w_.excluded[r * kDecodeKeys + j] = s[j] == -INFINITY;
    F total = F{};
    for (int64_t j = 0; j < count_; j += kLanes) {
      const F e = exp2(load(s + j) - splat(shift));
      total = total + e;
      store(s + j, e);
    }
    w_.l[r] = w_.l[r] * alpha + sum(total);
    if (alpha != 1)
      for (int64_t x = 0; x < o_row_; x += kLanes)
        store(w_.o + r * o_row_ + x, load(w_.o + r * o_row_ + x) * splat(alpha));
    if (call_.dropout.probability != 0) drop(r, s);
    if (pairs() && !careful)
      for (int64_t j = 0; j < count_; j += kLanes) store16(w_.narrow + r * kDecodeKeys + j, load(s + j));
  }

  // With several rows bf16 is bound by arithmetic, and P V takes the dot instruction, which narrows P.
  bool pairs() const { return kDot && n_ >= 4; }

  __attribute__((noinline)) void drop(int64_t r, float* p) const {
    const uint32_t threshold = rapt_keep_threshold(call_.dropout.probability), row = static_cast<uint32_t>(query(r));
    const float kept = static_cast<float>(1 / (1 - call_.dropout.probability));
    const uint32_t stream = static_cast<uint32_t>(s_.index * call_.heads_q + head(r));
    for (int64_t j = 0; j < count_; ++j) {
      const uint32_t column = static_cast<uint32_t>(j0_ + j);
      const rapt_philox_bits bits = rapt_philox(call_.dropout.seed, column / 4, row / 2, stream, call_.dropout.offset);
      p[j] *= rapt_philox_field(bits, row, column) < threshold ? kept : 0.f;
    }
  }

  // o[r] += sum over the block's keys of p[r][j] v[j].
  template <int RT, int NV>
  __attribute__((noinline)) void values() {
    for (int64_t r = 0; r < n_; r += RT) {
      int64_t c = 0;
      const int64_t full = call_.head_dim_v / kLanes;
      if (r == 0 && NV <= full) {
        value_columns<true, RT, NV>(r, c);
        c = NV;
      }
      for (; c + NV <= full; c += NV) value_columns<false, RT, NV>(r, c);
      for (; c + NV / 2 <= full; c += NV / 2) value_columns<false, RT, NV / 2>(r, c);
      for (; c < full; ++c) value_columns<false, RT, 1>(r, c);
      if (full * kLanes < call_.head_dim_v) value_tail<RT>(r, full);
    }
  }

  template <bool kFirst, int RT, int NV>
  RAPT_INLINE void value_columns(int64_t r0, int64_t c) {
    F acc[RT][NV];
    float* o = w_.o + r0 * o_row_ + c * kLanes;
    RAPT_UNROLL for (int r = 0; r < RT; ++r) RAPT_UNROLL for (int n = 0; n < NV; ++n) acc[r][n] =
        load(o + r * o_row_ + n * kLanes);
    const float* p = w_.scores + r0 * kDecodeKeys;
    for (int64_t j = 0; j < count_; ++j) {
      const T* v = reinterpret_cast<const T*>(w_.rows[count_ + j]) + c * kLanes;
      if (kFirst) ahead_.step();
      F vn[NV];
      RAPT_UNROLL for (int n = 0; n < NV; ++n) vn[n] = load_as_float(v + n * kLanes);
      RAPT_UNROLL for (int r = 0; r < RT; ++r) {
        const F weight = splat(p[r * kDecodeKeys + j]);
        RAPT_UNROLL for (int n = 0; n < NV; ++n) acc[r][n] = fma(weight, vn[n], acc[r][n]);
      }
    }
    RAPT_UNROLL for (int r = 0; r < RT; ++r) RAPT_UNROLL for (int n = 0; n < NV; ++n)
        store(o + r * o_row_ + n * kLanes, acc[r][n]);
  }

  template <int RT>
  __attribute__((noinline)) void value_tail(int64_t r0, int64_t c) {
    for (int64_t j = 0; j < count_; ++j) {
      const F v = load_words<false>(reinterpret_cast<const T*>(w_.rows[count_ + j]), c * kLanes, call_.head_dim_v);
      for (int r = 0; r < RT; ++r) {
        float* o = w_.o + (r0 + r) * o_row_ + c * kLanes;
        store(o, fma(splat(w_.scores[(r0 + r) * kDecodeKeys + j]), v, load(o)));
      }
    }
  }

#if defined(__AVX512BF16__)
  void value_pairs() {
    int64_t r = 0;
    for (; r + 4 < n_; r += 8) value_pairs_of<8, 2>(r);
    if (r < n_) value_pairs_of<4, 4>(r);
  }

  template <int RT, int NV>
  __attribute__((noinline)) void value_pairs_of(int64_t r0) {
    const int64_t full = call_.head_dim_v / kLanes;
    int64_t c = 0;
    for (; c + NV <= full; c += NV) pair_columns<RT, NV>(r0, c);
    for (; c < full; ++c) pair_columns<RT, 1>(r0, c);
    if (full * kLanes < call_.head_dim_v)
      for (int64_t r = r0; r < std::min(r0 + RT, n_); ++r) value_tail<1>(r, full);
  }

  // Keys in pairs: words (v[j][x], v[j + 1][x]) times (p[j], p[j + 1]).
  template <int RT, int NV>
  RAPT_INLINE void pair_columns(int64_t r0, int64_t c) {
    static constexpr Bf16 kZeros[kMaxHeadDim] = {};
    F acc[RT][NV];
    float* o = w_.o + r0 * o_row_ + c * kLanes;
    RAPT_UNROLL for (int r = 0; r < RT; ++r) RAPT_UNROLL for (int n = 0; n < NV; ++n) acc[r][n] =
        load(o + r * o_row_ + n * kLanes);
    for (int64_t j = 0; j < count_; j += 2) {
      const Bf16* a = reinterpret_cast<const Bf16*>(w_.rows[count_ + j]) + c * kLanes;
      const Bf16* b = j + 1 < count_ ? reinterpret_cast<const Bf16*>(w_.rows[count_ + j + 1]) + c * kLanes : kZeros;
      if (r0 == 0 && c == 0) {
        ahead_.step();
        ahead_.step();
      }
      F v[NV];
      RAPT_UNROLL for (int n = 0; n < NV; ++n) v[n] = interleave(a + n * kLanes, b + n * kLanes);
      RAPT_UNROLL for (int r = 0; r < RT; ++r) {
        float pair;
        std::memcpy(&pair, w_.narrow + (r0 + r) * kDecodeKeys + j, sizeof pair);
        RAPT_UNROLL for (int n = 0; n < NV; ++n) acc[r][n] = dot2(acc[r][n], splat(pair), v[n]);
      }
    }
    RAPT_UNROLL for (int r = 0; r < RT; ++r) RAPT_UNROLL for (int n = 0; n < NV; ++n)
        store(o + r * o_row_ + n * kLanes, acc[r][n]);
  }
#else
  void value_pairs() {}
#endif

  // As in ForwardTile: excluded keys with Inf or NaN in V stay out of the sums.
  __attribute__((noinline)) void careful_values() {
    for (int64_t r = 0; r < n_; ++r)
      for (int64_t j = 0; j < count_; ++j) {
        if (w_.excluded[r * kDecodeKeys + j]) continue;
        const T* v = reinterpret_cast<const T*>(w_.rows[count_ + j]);
        for (int64_t x = 0; x < call_.head_dim_v; ++x)
          w_.o[r * o_row_ + x] += w_.scores[r * kDecodeKeys + j] * static_cast<float>(v[x]);
      }
  }

  void write_row(int64_t r, const PartialRows* partial) const {
    const int64_t dim = call_.head_dim_v;
    const float* o = w_.o + r * o_row_;
    if (partial) {
      std::memcpy(partial->o + r * dim, o, static_cast<size_t>(dim) * sizeof(float));
      partial->m[r] = w_.m[r];
      partial->l[r] = w_.l[r];
      return;
    }
    const float factor = w_.l[r] == 0 ? 0.f : 1 / w_.l[r];
    T* out = reinterpret_cast<T*>(call_.out.data) + query_offset(call_.out, s_, query(r), head(r));
    for (int64_t x = 0; x < dim; x += kLanes) store_elements(out, x, dim, load(o + x) * splat(factor));
    if (call_.lse)
      reinterpret_cast<float*>(call_.lse.data)[lse_offset(call_.lse, s_, query(r), head(r))] =
          w_.m[r] * kLn2 + std::log(w_.l[r]);
  }

  const ForwardCall& call_;
  const Sequence& s_;
  const int64_t head_k_, n_;
  const int64_t words_, q_row_, o_row_;
  const float scale_log2_;
  const bool options_;
  DecodeAhead<T>& ahead_;
  DecodeScratch w_;
  int64_t j0_ = 0, count_ = 0;
};

// Key heads [first_head, first_head + heads) against keys [key_first, key_last). partial(slot): where the rows of a
// head go, or null for out and lse.
template <class T, class Partial>
inline void decode(const ForwardCall& call, const Sequence& s, int64_t first_head, int64_t heads, int64_t key_first,
                   int64_t key_last, bool with_sink, const DecodeScratch& scratch, const Partial& partial) {
  DecodeAhead<T> ahead(call, s, first_head, heads);
  const auto of_head = [&](int64_t slot) { return Decode<T>(call, s, first_head + slot, slot, scratch, ahead); };
  for (int64_t slot = 0; slot < heads; ++slot) of_head(slot).begin(with_sink);
  int64_t begin = key_last, end = key_first;
  for (int64_t i = 0; i < s.seqlen_q; ++i) {
    begin = std::min(begin, std::max(s.key_begin(call, i), key_first));
    end = std::max(end, std::min(s.key_end(call, i), key_last));
  }
  const int64_t step = decode_keys(call);
  for (int64_t j = begin; j < end; j += step) {
    const int64_t next = std::min(j + step, end);
    ahead.begin(next, std::min(step, end - next));
    for (int64_t slot = 0; slot < heads; ++slot) of_head(slot).block(j, next - j);
  }
  for (int64_t slot = 0; slot < heads; ++slot) of_head(slot).write(partial(slot));
}

}  // namespace rapt::cpu::RAPT_TIER
