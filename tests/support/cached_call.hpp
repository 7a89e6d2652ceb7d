// Attention over a cache: paged or not, appended to, rotated, left-padded, indexed. Each sequence is also gathered by
// hand into a plain call, with rotary embedding computed here; both must have the same result.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "support/allowance.hpp"

namespace test {

enum class Rotary { none, halves, interleaved };

struct CacheSetup {
  rapt_dtype dtype = kFp32;
  bool causal = false, paged = false, leftpad = false, indexed = false, all_used = false;
  bool empty_last = false;  // the last sequence's padding is the capacity
  int64_t seqlen_q = 3, seqlen_new = 0, rotary_dim = 16;
  Rotary rotary = Rotary::none;
  int64_t capacity = 48, page = 8, head_dim = 48, head_dim_v = 40;

  std::string text() const {
    std::string out = dtype.bits == 32 ? "fp32" : dtype.code == RAPT_BFLOAT ? "bf16" : "fp16";
    out += " capacity" + std::to_string(capacity);
    if (head_dim != CacheSetup().head_dim) out += " d" + std::to_string(head_dim);
    for (const auto& [is, name] : {std::pair{causal, " causal"},
                                   {paged, " paged"},
                                   {leftpad, " leftpad"},
                                   {indexed, " indexed"},
                                   {all_used, " all_used"},
                                   {empty_last, " empty_last"}})
      if (is) out += name;
    out += " sq" + std::to_string(seqlen_q) + " new" + std::to_string(seqlen_new);
    if (rotary != Rotary::none) out += rotary == Rotary::halves ? " halves" : " interleaved";
    return out;
  }
};

// One call over a cache, and each of its sequences as a plain call.
class CachedCall {
 public:
  static constexpr int64_t kBatch = 3, kHeadsQ = 4, kHeadsK = 2;

  explicit CachedCall(const CacheSetup& setup) : setup_(setup), random_(std::hash<std::string>()(setup.text())) {
    const int64_t sizes_q[4] = {kBatch, setup.seqlen_q, kHeadsQ, setup_.head_dim};
    q = normal({sizes_q, sizes_q + 4}, setup.dtype);
    const int64_t blocks = setup.paged ? kBatch * setup.capacity / setup.page + 2 : setup.indexed ? kBatch + 2 : kBatch;
    const int64_t rows = setup.paged ? setup.page : setup.capacity;
    k = normal({blocks, rows, kHeadsK, setup_.head_dim}, setup.dtype);
    v = normal({blocks, rows, kHeadsK, setup_.head_dim_v}, setup.dtype);
    new_k = normal({kBatch, setup.seqlen_new, kHeadsK, setup_.head_dim}, setup.dtype);
    new_v = normal({kBatch, setup.seqlen_new, kHeadsK, setup_.head_dim_v}, setup.dtype);
    used = ints({setup.capacity / 2 - 3, setup.all_used ? setup.capacity - setup.seqlen_new : 0, setup.capacity - 15});
    leftpad = ints({0, 0, setup.empty_last ? setup.capacity : 7});
    index = ints({4, 0, 2});
    block_table = Tensor(kInt32, {kBatch, setup_.capacity / setup_.page});
    block_table.fill([&](int64_t i) { return static_cast<double>((i * 7 + 5) % blocks); });
    cos = Tensor(setup.rotary_dim % 3 ? setup.dtype : kFp32, {(setup_.capacity + 24), setup.rotary_dim / 2});
    sin = cos;
    cos.fill([&](int64_t i) { return std::cos(angle(i)); });
    sin.fill([&](int64_t i) { return std::sin(angle(i)); });
    before_k_ = k;
    before_v_ = v;
  }

  // `place` may move the call's tensors, with their memory, to a device.
  using Place = std::function<void(const rapt_tensor* held, Tensor& from, bool written)>;
  rapt_status run(const std::string& backend, Tensor& out, Tensor& lse, const Place& place = {}) {
    Inputs none(Problem("b1 hq1 hk1 sq1 sk1 d1 fp32"));
    Attention attention(none);
    const auto hold = [&](Tensor& tensor, bool written = false) {
      const rapt_tensor* const held = attention.hold(tensor);
      if (place) place(held, tensor, written);
      return held;
    };
    const bool appends = setup_.seqlen_new > 0;
    auto& cache = attention.cache;
    attention.c.q = hold(q);
    attention.c.k = hold(k, appends);
    attention.c.v = hold(v, appends);
    attention.c.causal = setup_.causal;
    attention.c.kv_cache = &cache;
    if (!setup_.all_used || appends) cache.seqused_k = hold(used);
    if (setup_.paged) cache.block_table = hold(block_table);
    if (setup_.indexed) cache.cache_batch_idx = hold(index);
    if (setup_.leftpad) cache.leftpad_k = hold(leftpad);
    if (appends) {
      cache.new_k = hold(new_k);
      cache.new_v = hold(new_v);
    }
    if (setup_.rotary != Rotary::none) {
      cache.rotary_cos = hold(cos);
      cache.rotary_sin = hold(sin);
      cache.rotary_interleaved = setup_.rotary == Rotary::interleaved;
    }
    auto execution = init<rapt_execution>();
    execution.backend = backend.c_str();
    auto call = init<rapt_forward_call>();
    call.attention = &attention.c;
    call.out = hold(out, true);
    call.lse = hold(lse, true);
    call.execution = &execution;
    return rapt_forward(&call);
  }

  // Call it before run(), for a GPU that takes smaller elements for zero.
  void clear_below(double least) {
    for (Tensor* t : {&q, &k, &v, &new_k, &new_v})
      for (int64_t i = 0; i < t->count(); ++i)
        if (std::fabs(t->at(i)) < least) t->set(i, 0);
    before_k_ = k;
    before_v_ = v;
  }

  Tensor make_out() const { return {setup_.dtype, {kBatch, setup_.seqlen_q, kHeadsQ, setup_.head_dim_v}}; }
  Tensor make_lse() const { return {kFp32, {kBatch, kHeadsQ, setup_.seqlen_q}}; }

  int64_t used_before(int64_t b) const {
    return setup_.all_used && setup_.seqlen_new == 0 ? setup_.capacity : static_cast<int64_t>(used.at(b));
  }
  int64_t first(int64_t b) const { return setup_.leftpad ? static_cast<int64_t>(leftpad.at(b)) : 0; }
  int64_t length(int64_t b) const { return used_before(b) + setup_.seqlen_new - first(b); }

  // Where row r of sequence b is in the cache, as a row of all its rows.
  int64_t cache_row(int64_t b, int64_t r) const {
    if (setup_.paged)
      return static_cast<int64_t>(block_table.at(b * (setup_.capacity / setup_.page) + r / setup_.page)) * setup_.page +
             r % setup_.page;
    return (setup_.indexed ? static_cast<int64_t>(index.at(b)) : b) * setup_.capacity + r;
  }

  // Sequence b as a separate call.
  Inputs gathered(int64_t b) const {
    const std::string type = setup_.text().substr(0, 4);
    Inputs in(Problem("b1 hq4 hk2 sq" + std::to_string(setup_.seqlen_q) + " sk" + std::to_string(length(b)) + " d" +
                      std::to_string(setup_.head_dim) + " dv" + std::to_string(setup_.head_dim_v) + " " + type +
                      (setup_.causal ? " causal" : "")));
    in.q = Tensor(setup_.dtype, {1, setup_.seqlen_q, kHeadsQ, setup_.head_dim});
    in.k = Tensor(setup_.dtype, {1, length(b), kHeadsK, setup_.head_dim});
    in.v = Tensor(setup_.dtype, {1, length(b), kHeadsK, setup_.head_dim_v});
    in.q.fill([&](int64_t i) {
      const int64_t position = used_before(b) + (setup_.causal ? i / (kHeadsQ * setup_.head_dim) : 0);
      return rotated(q, b * in.q.count() + i / setup_.head_dim * setup_.head_dim, i % setup_.head_dim, position);
    });
    in.k.fill(
        [&](int64_t i) { return key(b, first(b) + i / (kHeadsK * setup_.head_dim), i % (kHeadsK * setup_.head_dim)); });
    in.v.fill([&](int64_t i) {
      return value(b, first(b) + i / (kHeadsK * setup_.head_dim_v), i % (kHeadsK * setup_.head_dim_v));
    });
    return in;
  }

  double key(int64_t b, int64_t r, int64_t x) const {
    const int64_t row = kHeadsK * setup_.head_dim, appended = r - used_before(b);
    if (appended < 0) return before_k_.at(cache_row(b, r) * row + x);
    return rotated(new_k, (b * setup_.seqlen_new + appended) * row + x / setup_.head_dim * setup_.head_dim,
                   x % setup_.head_dim, r);
  }
  double value(int64_t b, int64_t r, int64_t x) const {
    const int64_t row = kHeadsK * setup_.head_dim_v, appended = r - used_before(b);
    return appended < 0 ? before_v_.at(cache_row(b, r) * row + x)
                        : new_v.at((b * setup_.seqlen_new + appended) * row + x);
  }

  // The cache after the call: appended rows written, all else as it was.
  void expect_cache(const std::string& where) const {
    Tensor want_k = before_k_, want_v = before_v_;
    for (int64_t b = 0; b < kBatch; ++b)
      for (int64_t r = used_before(b); r < used_before(b) + setup_.seqlen_new; ++r) {
        for (int64_t x = 0; x < kHeadsK * setup_.head_dim; ++x)
          want_k.set(cache_row(b, r) * kHeadsK * setup_.head_dim + x, key(b, r, x));
        for (int64_t x = 0; x < kHeadsK * setup_.head_dim_v; ++x)
          want_v.set(cache_row(b, r) * kHeadsK * setup_.head_dim_v + x, value(b, r, x));
      }
    double worst = 0;
    for (int64_t i = 0; i < k.count(); ++i) worst = std::max(worst, std::fabs(k.at(i) - want_k.at(i)));
    EXPECT_LE(worst, rotation_error()) << where << ": keys in the cache";
    EXPECT_TRUE(same_elements(v, want_v)) << where << ": values in the cache";
  }

  Tensor q, k, v, new_k, new_v, used, leftpad, index, block_table, cos, sin;

 private:
  Tensor normal(std::vector<int64_t> shape, rapt_dtype dtype) {
    Tensor t(dtype, std::move(shape));
    t.fill([&](int64_t) { return normal_(random_); });
    return t;
  }
  static Tensor ints(std::vector<int64_t> values) {
    Tensor t(kInt32, {static_cast<int64_t>(values.size())});
    t.fill([&](int64_t i) { return static_cast<double>(values[static_cast<size_t>(i)]); });
    return t;
  }
  double angle(int64_t i) const {
    const int64_t half = setup_.rotary_dim / 2;
    const int64_t position = i / half;
    return static_cast<double>(position) *
           std::pow(10000.0, -static_cast<double>(i % half) / static_cast<double>(half));
  }
  // A unit in the last place of the type, where the largest key is below 8: the last bit may round either way.
  double rotation_error() const {
    if (setup_.rotary == Rotary::none) return 0;
    return setup_.dtype.bits == 32 ? 0x1p-21 : setup_.dtype.code == RAPT_BFLOAT ? 0x1p-5 : 0x1p-8;
  }

  // Element x of the head at `row`, turned by the pair's angle: (a, b) -> (a cos - b sin, b cos + a sin).
  double rotated(const Tensor& t, int64_t row, int64_t x, int64_t position) const {
    const int64_t half = setup_.rotary_dim / 2;
    if (setup_.rotary == Rotary::none || x >= setup_.rotary_dim) return t.at(row + x);
    const bool halves = setup_.rotary == Rotary::halves;
    const int64_t pair = halves ? x % half : x / 2;
    const bool is_first = halves ? x < half : x % 2 == 0;
    const int64_t partner = halves ? (is_first ? x + half : x - half) : (is_first ? x + 1 : x - 1);
    const double c = cos.at(position * half + pair), s = sin.at(position * half + pair);
    const double turned = t.at(row + x) * c + (is_first ? -s : s) * t.at(row + partner);
    Tensor one(t.dtype(), {1});
    one.set(0, turned);
    return one.at(0);
  }

  CacheSetup setup_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  Tensor before_k_, before_v_;
};

// Rows [b] of a [batch, ...] tensor, as a tensor with batch 1.
inline Tensor part(const Tensor& t, int64_t b) {
  std::vector<int64_t> shape = t.shape();
  shape[0] = 1;
  Tensor out(t.dtype(), shape);
  out.fill([&](int64_t i) { return t.at(b * out.count() + i); });
  return out;
}

// The results of each sequence, and the cache, after `call` has run.
inline void expect_sequences(const CachedCall& call, const Tensor& out, const Tensor& lse, const std::string& where) {
  call.expect_cache(where);
  for (int64_t b = 0; b < CachedCall::kBatch; ++b) {
    Results results;
    results.out = part(out, b);
    results.lse = part(lse, b);
    for (const Measure& m : Oracle(call.gathered(b)).measure(results))
      EXPECT_TRUE(m.ok()) << where << ", sequence " << b << ", " << m.text();
  }
}

inline void PrintTo(const CacheSetup& setup, std::ostream* out) { *out << setup.text(); }

inline const CacheSetup kSetups[] = {
    {},
    {.causal = true},
    {.all_used = true, .seqlen_q = 1},
    {.leftpad = true, .all_used = true},
    {.causal = true, .paged = true},
    {.paged = true, .leftpad = true},
    {.causal = true, .paged = true, .leftpad = true, .all_used = true},
    {.paged = true, .leftpad = true, .all_used = true, .empty_last = true},  // no row of the page table has its keys
    {.causal = true, .leftpad = true, .indexed = true},
    {.indexed = true, .seqlen_q = 1},
    {.causal = true, .seqlen_new = 3},
    {.all_used = true, .seqlen_new = 5},
    {.causal = true, .paged = true, .seqlen_q = 1, .seqlen_new = 1},
    {.paged = true, .leftpad = true, .seqlen_new = 7},
    {.causal = true, .indexed = true, .seqlen_q = 2, .seqlen_new = 2},
    {.seqlen_q = 40, .seqlen_new = 2},  // five tiles of 16 rows of q append to each head of k
    {.paged = true, .leftpad = true, .seqlen_q = 9, .seqlen_new = 7, .rotary = Rotary::halves},
    {.paged = true, .seqlen_q = 0, .seqlen_new = 3},  // nothing to compute: the new keys alone
    {.leftpad = true, .indexed = true, .seqlen_q = 0, .seqlen_new = 2, .rotary = Rotary::halves},
    {.causal = true, .seqlen_new = 3, .rotary = Rotary::halves},
    {.causal = true, .paged = true, .seqlen_new = 3, .rotary = Rotary::interleaved},
    {.seqlen_new = 3, .rotary_dim = 24, .rotary = Rotary::halves},
    {.leftpad = true, .indexed = true, .seqlen_q = 1, .seqlen_new = 1, .rotary_dim = 24, .rotary = Rotary::interleaved},
    {.causal = true, .rotary_dim = 2, .rotary = Rotary::interleaved},
};

}  // namespace test
