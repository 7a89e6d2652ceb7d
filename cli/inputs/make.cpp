#include "cli/inputs/make.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "cli/inputs/dtype.hpp"

namespace rapt::cli {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Random {  // splitmix64
 public:
  Random(uint64_t seed, uint64_t stream) : state_(seed * 0x9e3779b97f4a7c15u + stream * 0xd1342543de82ef95u) {}
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }  // in (0, 1)
  std::pair<double, double> normals() {                                             // Box-Muller
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  uint64_t state_;
};

enum Stream : uint64_t { kQ = 1, kK, kV, kBias, kMask, kHostile, kSink, kOutliers, kPages };

std::vector<int64_t> score_shape(const rapt_problem& p, int32_t bits) {
  return {bits & RAPT_PER_BATCH ? p.batch : 1, bits & RAPT_PER_HEAD ? p.heads_q : 1,
          bits & RAPT_PER_QUERY ? p.seqlen_q : 1, p.seqlen_k};
}

class Maker {
 public:
  Maker(const rapt_problem& p, InputKind kind, uint64_t seed, Form form)
      : p_(p), kind_(kind), seed_(seed), form_(form) {}

  MadeTensors run() {
    make_lengths();
    make_rows();
    make_scores();
    if (kind_ == InputKind::poison_unseen) poison_unseen();
    if (kind_ == InputKind::poison_seen) poison_seen();
    return std::move(t_);
  }

 private:
  bool packed() const { return p_.varlen_count > 0; }

  void make_lengths() {
    const auto starts = [&](int64_t (*first)(const rapt_problem&, int64_t)) {
      Array cu(kInt32, {p_.batch + 1});
      cu.fill([&](int64_t b) { return static_cast<double>(first(p_, b)); });
      return cu;
    };
    if (packed()) t_.cu_seqlens_q = starts(first_q);
    if (packed() && p_.page == 0) t_.cu_seqlens_k = starts(first_k);
    if (p_.page == 0) return;
    const int64_t per_sequence = (p_.seqlen_k + p_.page - 1) / p_.page + 1;
    std::vector<int64_t> order(static_cast<size_t>(p_.batch * per_sequence + 1));
    std::iota(order.begin(), order.end(), 0);
    Random random(seed_, kPages);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.bits() % i]);
    t_.block_table = Array(kInt32, {p_.batch, per_sequence});
    t_.block_table.fill([&](int64_t i) { return static_cast<double>(order[static_cast<size_t>(i)]); });
    t_.seqused_k = Array(kInt32, {p_.batch});
    t_.seqused_k.fill([&](int64_t b) { return static_cast<double>(seqlen_k(p_, b)); });
    blocks_ = static_cast<int64_t>(order.size());
  }

  Array rows(bool of_q, int64_t dim) const {
    const int64_t heads = of_q ? p_.heads_q : p_.heads_k;
    if (!of_q && p_.page > 0) return Array(p_.dtype, {blocks_, p_.page, heads, dim}, form_.layout);
    if (packed()) return Array(p_.dtype, {(of_q ? first_q : first_k)(p_, p_.batch), heads, dim}, form_.layout);
    return Array(p_.dtype, {p_.batch, of_q ? p_.seqlen_q : p_.seqlen_k, heads, dim}, form_.layout);
  }

  void make_rows() {
    t_.q = rows(true, p_.head_dim);
    t_.k = rows(false, p_.head_dim);
    t_.v = rows(false, p_.head_dim_v);
    fill_normal(t_.q, seed_, kQ);
    fill_normal(t_.k, seed_, kK);
    fill_normal(t_.v, seed_, kV);
    if (kind_ == InputKind::constant_v) t_.v.fill([](int64_t) { return 1; });
    for (const auto& [x, stream] : {std::pair{&t_.q, kQ}, {&t_.k, kK}}) {
      if (kind_ == InputKind::outliers) add_outliers(*x, stream);
      if (kind_ == InputKind::large)
        for (int64_t i = 0; i < x->count(); ++i) x->set(i, 100 * x->at(i));
      if (kind_ == InputKind::huge) make_huge(*x);
      if (kind_ == InputKind::identical && x->count() > 0) x->repeat(x->shape().end()[-2] * x->shape().back());
    }
    if (p_.page > 0) clear_unused_rows();
  }

  void add_outliers(Array& a, uint64_t stream) const {
    Random random(seed_, kOutliers * 64 + stream);
    for (int64_t i = 0; i < a.count(); ++i)
      if (random.uniform() < 0.01) a.set(i, a.at(i) * 30);
  }

  // Every third row is negative. Sums of the products are exact in float32, so equal rows have equal logits.
  void make_huge(Array& a) const {
    const double size = p_.dtype.code == RAPT_FLOAT && p_.dtype.bits == 16 ? 63488 : 133120;
    const int64_t dim = a.shape().back();
    a.fill([&](int64_t i) { return i / dim % 3 == 1 ? -size : size; });
  }

  void clear_unused_rows() {
    std::vector<bool> used(static_cast<size_t>(blocks_ * p_.page));
    for (int64_t b = 0; b < p_.batch; ++b)
      for (int64_t j = 0; j < seqlen_k(p_, b); ++j) used[static_cast<size_t>(key_row(p_, t_.block_table, b, j))] = true;
    for (int64_t row = 0; row < blocks_ * p_.page; ++row)
      for (int64_t g = 0; g < p_.heads_k && !used[static_cast<size_t>(row)]; ++g) {
        set_row(t_.k, row, g, kNan);
        set_row(t_.v, row, g, kNan);
      }
  }

  // Rows of scores are along the keys, one for each (batch, head, query) that the shape tells apart.
  int64_t score_row(int64_t index) const { return index / std::max<int64_t>(p_.seqlen_k, 1); }
  bool whole_row_masked(int64_t row) const { return kind_ == InputKind::masked_rows && row % 3 == 1; }

  void make_scores() {
    const bool mixed = form_.mixed_types;
    const auto scores = [&](rapt_dtype dtype, std::vector<int64_t> shape) {
      return Array(dtype, std::move(shape), form_.layout, Last::strided);
    };
    const rapt_dtype wider = p_.dtype.bits == 64 ? p_.dtype : kFp32;
    if (p_.has_bias) {
      t_.bias = scores(p_.bias_fp32 || (mixed && p_.bias_shape % 2) ? wider : p_.dtype, score_shape(p_, p_.bias_shape));
      fill_normal(t_.bias, seed_, kBias);
      change_bias();
    }
    if (p_.has_mask) {
      t_.mask = scores(mixed && p_.mask_shape % 2 == 0 ? kUint8 : kBool, score_shape(p_, p_.mask_shape));
      Random random(seed_, kMask);
      t_.mask.fill([&](int64_t i) { return random.uniform() < 0.7 && !whole_row_masked(score_row(i)); });
    }
    if (p_.has_alibi) {
      t_.alibi_slopes = scores(kFp32, mixed && p_.batch % 2 == 0 ? std::vector<int64_t>{p_.batch, p_.heads_q}
                                                                 : std::vector<int64_t>{p_.heads_q});
      t_.alibi_slopes.fill([&](int64_t i) {
        return std::exp2(-8.0 * static_cast<double>(i % p_.heads_q + 1) / static_cast<double>(p_.heads_q));
      });
    }
    if (p_.has_sink) {
      t_.sink = scores(mixed && p_.heads_q % 2 == 0 ? wider : p_.dtype, {p_.heads_q});
      fill_normal(t_.sink, seed_, kSink);
    }
  }

  void change_bias() {
    Random random(seed_, kHostile);
    const bool hostile = kind_ == InputKind::hostile_bias;
    if (!hostile && (kind_ != InputKind::masked_rows || p_.has_mask)) return;
    for (int64_t i = 0; i < t_.bias.count(); ++i) {
      const double u = random.uniform();
      if (hostile ? score_row(i) % 4 == 1 || u < 0.2 : whole_row_masked(score_row(i))) t_.bias.set(i, -kInfinity);
      else if (hostile && u < 0.25) t_.bias.set(i, 300 * t_.bias.at(i));
    }
  }

  void set_row(Array& t, int64_t row, int64_t head, double value) const {
    const int64_t dim = t.shape().back();
    for (int64_t x = 0; x < dim; ++x) t.set((row * p_.heads_k + head) * dim + x, value);
  }

  bool seen(int64_t b, int64_t head_k, int64_t j) const {
    const int64_t group = p_.heads_q / p_.heads_k;
    for (int64_t h = head_k * group; h < (head_k + 1) * group; ++h)
      for (int64_t i = 0; i < seqlen_q(p_, b); ++i)
        if (attends(p_, t_.mask, b, h, i, j)) return true;
    return false;
  }

  void poison_unseen() {
    for (int64_t b = 0; b < p_.batch; ++b)
      for (int64_t g = 0; g < p_.heads_k; ++g)
        for (int64_t j = 0; j < seqlen_k(p_, b); ++j) {
          if (seen(b, g, j)) continue;
          set_row(t_.k, key_row(p_, t_.block_table, b, j), g, j % 2 ? kNan : kInfinity);
          set_row(t_.v, key_row(p_, t_.block_table, b, j), g, j % 2 ? -kInfinity : kNan);
        }
  }

  void poison_seen() {
    for (int64_t b = 0; b < p_.batch; ++b) {
      const int64_t keys = seqlen_k(p_, b);
      if (keys == 0) continue;
      const int64_t early = key_row(p_, t_.block_table, b, keys / 3),
                    late = key_row(p_, t_.block_table, b, keys * 2 / 3);
      if (b % 2) set_row(t_.k, late, 0, kNan);
      else poison_values(early, late);
    }
  }

  // Every second dimension of two rows of v: each non-finite value by itself, and each pair.
  void poison_values(int64_t early, int64_t late) {
    constexpr double values[] = {kNan, kInfinity, -kInfinity, 1};
    const int64_t dim = t_.v.shape().back();
    for (int64_t x = 0; x < dim; x += 2) {
      t_.v.set(early * p_.heads_k * dim + x, values[x / 2 % 4]);
      t_.v.set(late * p_.heads_k * dim + x, values[x / 8 % 4]);
    }
  }

  const rapt_problem& p_;
  InputKind kind_;
  uint64_t seed_;
  Form form_;
  MadeTensors t_;
  int64_t blocks_ = 0;
};

}  // namespace

MadeTensors make_tensors(const rapt_problem& problem, InputKind kind, uint64_t seed, Form form) {
  return Maker(problem, kind, seed, form).run();
}

void fill_normal(Array& array, uint64_t seed, uint64_t stream) {
  constexpr int64_t kDistinct = int64_t{4} << 20;
  Random random(seed, stream);
  const int64_t distinct = std::min(array.count(), kDistinct);
  for (int64_t i = 0; i < distinct; i += 2) {
    const auto [first, second] = random.normals();
    array.set(i, first);
    if (i + 1 < distinct) array.set(i + 1, second);
  }
  if (array.count() > distinct) array.repeat(distinct);
}

int64_t seqlen_q(const rapt_problem& p, int64_t b) { return p.varlen_count > 0 ? p.varlen[2 * b] : p.seqlen_q; }
int64_t seqlen_k(const rapt_problem& p, int64_t b) { return p.varlen_count > 0 ? p.varlen[2 * b + 1] : p.seqlen_k; }

int64_t first_q(const rapt_problem& p, int64_t b) {
  int64_t rows = 0;
  for (int64_t i = 0; i < b; ++i) rows += seqlen_q(p, i);
  return rows;
}

int64_t first_k(const rapt_problem& p, int64_t b) {
  int64_t rows = 0;
  for (int64_t i = 0; i < b; ++i) rows += seqlen_k(p, i);
  return rows;
}

int64_t key_row(const rapt_problem& p, const Array& block_table, int64_t b, int64_t j) {
  if (p.page == 0) return first_k(p, b) + j;
  return static_cast<int64_t>(block_table.at({b, j / p.page})) * p.page + j % p.page;
}

int64_t diagonal(const rapt_problem& p, int64_t b) {
  const bool top_left = p.causal == RAPT_CAUSAL_TOP_LEFT || (p.has_window && p.window_top_left);
  return top_left ? 0 : seqlen_k(p, b) - seqlen_q(p, b);
}

bool attends(const rapt_problem& p, const Array& mask, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t off = diagonal(p, b);
  const int64_t left = p.has_window ? p.window_left : -1;
  const int64_t right = p.causal != RAPT_NOT_CAUSAL ? 0 : p.has_window ? p.window_right : -1;
  if (left >= 0 && j < i + off - left) return false;
  if (right >= 0 && j > i + off + right) return false;
  return !mask || mask.at({b, h, i, j}) != 0;
}

}  // namespace rapt::cli
