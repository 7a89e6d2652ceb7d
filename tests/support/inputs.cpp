#include "support/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

namespace test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int64_t total(const Problem& p, bool of_q) {
  int64_t rows = 0;
  for (int64_t b = 0; b < p.c.batch; ++b) rows += of_q ? p.seqlen_q(b) : p.seqlen_k(b);
  return rows;
}

std::vector<int64_t> rows_shape(const Problem& p, bool of_q, int64_t dim) {
  const int64_t heads = of_q ? p.c.heads_q : p.c.heads_k;
  if (p.packed()) return {total(p, of_q), heads, dim};
  return {p.c.batch, of_q ? p.c.seqlen_q : p.c.seqlen_k, heads, dim};
}

std::vector<int64_t> scores_shape(const Problem& p, int32_t bits) {
  return {bits & RAPT_PER_BATCH ? p.c.batch : 1, bits & RAPT_PER_HEAD ? p.c.heads_q : 1,
          bits & RAPT_PER_QUERY ? p.c.seqlen_q : 1, p.c.seqlen_k};
}

int64_t score_index(const Tensor& t, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t at[4] = {b, h, i, j};
  int64_t index = 0;
  for (int d = 0; d < 4; ++d) index = index * t.shape()[d] + (t.shape()[d] == 1 ? 0 : at[d]);
  return index;
}

// In float64, with q and k decoded once.
class FinalLogit {
 public:
  explicit FinalLogit(const Inputs& in) : in_(in), c_(in.problem.c), q_(in.q.values()), k_(in.k.values()) {}

  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const Problem& p = in_.problem;
    const double* q = q_.data() + ((p.first_q(b) + i) * c_.heads_q + h) * c_.head_dim;
    const double* k = k_.data() + (in_.row_k(b, j) * c_.heads_k + h / p.group()) * c_.head_dim;
    double s = 0;
    for (int64_t x = 0; x < c_.head_dim; ++x) s += q[x] * k[x];
    s *= p.scale();
    if (c_.softcap != 0) s = c_.softcap * std::tanh(s / c_.softcap);
    if (in_.bias) s += in_.bias.at(score_index(in_.bias, b, h, i, j));
    const int64_t off = c_.causal == RAPT_CAUSAL_TOP_LEFT ? 0 : p.seqlen_k(b) - p.seqlen_q(b);
    if (in_.alibi) {
      const double slope = in_.alibi.at(in_.alibi.shape().size() == 2 ? b * c_.heads_q + h : h);
      s -= slope * static_cast<double>(std::abs(i + off - j));
    }
    return s;
  }

 private:
  const Inputs& in_;
  const rapt_problem& c_;
  std::vector<double> q_, k_;
};

class Maker {
 public:
  Maker(Inputs& inputs, Kind kind, Layout layout, uint64_t seed)
      : in_(inputs),
        p_(inputs.problem),
        kind_(kind),
        layout_(layout),
        random_(std::hash<std::string>()(p_.text) + seed) {}

  void run() {
    make_rows();
    make_lengths();
    make_scores();
    if (kind_ == Kind::poison_unseen) poison_unseen();
    if (kind_ == Kind::poison_seen) poison_seen();
  }

 private:
  double normal() { return normal_(random_); }
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  void make_rows() {
    const rapt_problem& c = p_.c;
    if (c.page > 0) make_pages();
    in_.q = Tensor(c.dtype, rows_shape(p_, true, c.head_dim), layout_);
    if (c.page == 0) {
      in_.k = Tensor(c.dtype, rows_shape(p_, false, c.head_dim), layout_);
      in_.v = Tensor(c.dtype, rows_shape(p_, false, c.head_dim_v), layout_);
    }
    in_.dout = Tensor(c.dtype, rows_shape(p_, true, c.head_dim_v), layout_);
    in_.q.fill([&](int64_t i) { return query_or_key(in_.q, i, c.heads_q * c.head_dim); });
    in_.dout.fill([&](int64_t) { return normal(); });
    for (int64_t b = 0; b < c.batch; ++b)
      for (int64_t j = 0; j < p_.seqlen_k(b); ++j) make_key(in_.row_k(b, j));
  }

  double query_or_key(const Tensor& t, int64_t index, int64_t row) {
    if (kind_ == Kind::same_rows && index >= row) return t.at(index % row);
    if (kind_ == Kind::huge_logits) return 80 * normal();
    const double x = normal();
    return kind_ == Kind::outliers && uniform() < 0.01 ? 30 * x : x;
  }

  void make_key(int64_t row) {
    const rapt_problem& c = p_.c;
    const int64_t k_row = c.heads_k * c.head_dim, v_row = c.heads_k * c.head_dim_v;
    if (first_key_row_ < 0) first_key_row_ = row;
    for (int64_t x = 0; x < k_row; ++x) {
      const bool copy = kind_ == Kind::same_rows && row != first_key_row_;
      in_.k.set(row * k_row + x, copy ? in_.k.at(first_key_row_ * k_row + x) : query_or_key(in_.k, x, k_row));
    }
    for (int64_t x = 0; x < v_row; ++x) in_.v.set(row * v_row + x, kind_ == Kind::constant_v ? 1 : normal());
  }

  // More pages than are used, in shuffled order; unused rows stay NaN.
  void make_pages() {
    const rapt_problem& c = p_.c;
    const int64_t per_sequence = (c.seqlen_k + c.page - 1) / c.page + 1, blocks = c.batch * per_sequence + 1;
    std::vector<int64_t> order(static_cast<size_t>(blocks));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    in_.k = Tensor(c.dtype, {blocks, c.page, c.heads_k, c.head_dim}, layout_);
    in_.v = Tensor(c.dtype, {blocks, c.page, c.heads_k, c.head_dim_v}, layout_);
    in_.block_table = Tensor(kInt32, {c.batch, per_sequence});
    in_.block_table.fill([&](int64_t i) { return static_cast<double>(order[static_cast<size_t>(i)]); });
    in_.seqused_k = Tensor(kInt32, {c.batch});
    in_.seqused_k.fill([&](int64_t b) { return static_cast<double>(p_.seqlen_k(b)); });
  }

  void make_lengths() {
    if (!p_.packed()) return;
    in_.cu_seqlens_q = Tensor(kInt32, {p_.c.batch + 1});
    in_.cu_seqlens_q.fill([&](int64_t b) { return static_cast<double>(p_.first_q(b)); });
    if (p_.c.page > 0) return;
    in_.cu_seqlens_k = Tensor(kInt32, {p_.c.batch + 1});
    in_.cu_seqlens_k.fill([&](int64_t b) { return static_cast<double>(p_.first_k(b)); });
  }

  void make_scores() {
    const rapt_problem& c = p_.c;
    if (c.has_bias) {
      // The type of q or fp32: the text does not say, so the tests take both in turn.
      const bool full = c.bias_shape % 2 == 0;
      in_.bias = Tensor(full                 ? c.dtype
                        : c.dtype.bits == 64 ? kFp64
                                             : kFp32,
                        scores_shape(p_, c.bias_shape), layout_, Last::strided);
      in_.bias.fill([&](int64_t i) { return bias_value(i / std::max<int64_t>(c.seqlen_k, 1)); });
    }
    if (c.has_mask) {
      in_.mask = Tensor(c.mask_shape % 2 ? kBool : kUint8, scores_shape(p_, c.mask_shape), layout_, Last::strided);
      in_.mask.fill([&](int64_t i) {
        const int64_t row = i / std::max<int64_t>(c.seqlen_k, 1);
        return kind_ == Kind::masked_rows && row % 3 == 1 ? 0.0 : uniform() < 0.7;
      });
    }
    if (c.has_alibi) {
      in_.alibi =
          Tensor(kFp32, c.batch % 2 ? std::vector<int64_t>{c.heads_q} : std::vector<int64_t>{c.batch, c.heads_q},
                 layout_, Last::strided);
      in_.alibi.fill([&](int64_t i) {
        return std::exp2(-8.0 * static_cast<double>(i % c.heads_q + 1) / static_cast<double>(c.heads_q));
      });
    }
    if (c.has_sink) {
      in_.sink = Tensor(c.heads_q % 2 || c.dtype.bits == 64 ? c.dtype : kFp32, {c.heads_q}, layout_, Last::strided);
      in_.sink.fill([&](int64_t) { return normal(); });
    }
  }

  double bias_value(int64_t row) {
    if (kind_ != Kind::hostile_bias) return normal();
    if (row % 4 == 1) return -kInfinity;
    const double u = uniform();
    return u < 0.2 ? -kInfinity : u < 0.25 ? 300 * normal() : normal();
  }

  void set_row(Tensor& t, int64_t row, int64_t head, double value) {
    const int64_t dim = t.shape().back();
    for (int64_t x = 0; x < dim; ++x) t.set((row * p_.c.heads_k + head) * dim + x, value);
  }

  void poison_unseen() {
    for (int64_t b = 0; b < p_.c.batch; ++b)
      for (int64_t g = 0; g < p_.c.heads_k; ++g)
        for (int64_t j = 0; j < p_.seqlen_k(b); ++j) {
          bool seen = false;
          for (int64_t h = g * p_.group(); h < (g + 1) * p_.group() && !seen; ++h)
            for (int64_t i = 0; i < p_.seqlen_q(b) && !seen; ++i) seen = in_.attends(b, h, i, j);
          if (seen) continue;
          set_row(in_.k, in_.row_k(b, j), g, j % 2 ? kNan : kInfinity);
          set_row(in_.v, in_.row_k(b, j), g, j % 2 ? -kInfinity : kNan);
        }
  }

  void poison_seen() {
    for (int64_t b = 0; b < p_.c.batch; ++b) {
      if (p_.seqlen_k(b) == 0) continue;
      const int64_t early = p_.seqlen_k(b) / 3, late = p_.seqlen_k(b) * 2 / 3;
      if (b % 2) set_row(in_.k, in_.row_k(b, late), 0, kNan);
      else poison_values(in_.row_k(b, early), in_.row_k(b, late));
    }
  }

  // Every other dimension of two rows of v: each value that is not finite, alone and with each other.
  void poison_values(int64_t early, int64_t late) {
    constexpr double values[] = {kNan, kInfinity, -kInfinity, 1};
    const int64_t dim = in_.v.shape().back();
    for (int64_t x = 0; x < dim; x += 2) {
      in_.v.set(early * p_.c.heads_k * dim + x, values[x / 2 % 4]);
      in_.v.set(late * p_.c.heads_k * dim + x, values[x / 8 % 4]);
    }
  }

  Inputs& in_;
  const Problem& p_;
  Kind kind_;
  Layout layout_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  int64_t first_key_row_ = -1;
};

}  // namespace

Problem::Problem(const std::string& t) : text(t) {
  varlen.resize(2 * static_cast<size_t>(std::count(t.begin(), t.end(), ':')));
  c = init<rapt_problem>();
  if (rapt_problem_parse(t.c_str(), &c, varlen.data(), varlen.size() / 2) != RAPT_OK)
    throw std::runtime_error(rapt_last_error());
  c.varlen = varlen.data();
}

int64_t Problem::first_q(int64_t b) const {
  int64_t rows = 0;
  for (int64_t i = 0; i < b; ++i) rows += seqlen_q(i);
  return rows;
}

int64_t Problem::first_k(int64_t b) const {
  int64_t rows = 0;
  for (int64_t i = 0; i < b; ++i) rows += seqlen_k(i);
  return rows;
}

double Problem::scale() const { return c.has_scale ? c.softmax_scale : 1 / std::sqrt(static_cast<double>(c.head_dim)); }

Inputs Inputs::as(rapt_dtype dtype) const {
  Inputs out = *this;
  for (Tensor* t : {&out.q, &out.k, &out.v, &out.dout, &out.bias, &out.sink}) *t = t->as(dtype);
  return out;
}

int64_t Inputs::row_k(int64_t b, int64_t j) const {
  const int64_t page = problem.c.page;
  if (page == 0) return problem.first_k(b) + j;
  const int64_t block = static_cast<int64_t>(block_table.at(b * block_table.shape()[1] + j / page));
  return block * page + j % page;
}

bool Inputs::attends(int64_t b, int64_t h, int64_t i, int64_t j) const {
  const rapt_problem& c = problem.c;
  const int64_t off = c.causal == RAPT_CAUSAL_TOP_LEFT ? 0 : problem.seqlen_k(b) - problem.seqlen_q(b);
  const int64_t left = c.has_window ? c.window_left : -1;
  const int64_t right = c.causal != RAPT_NOT_CAUSAL ? 0 : c.has_window ? c.window_right : -1;
  if (left >= 0 && j < i + off - left) return false;
  if (right >= 0 && j > i + off + right) return false;
  return !mask || mask.at(score_index(mask, b, h, i, j)) != 0;
}

double Inputs::max_logit() const {
  const FinalLogit logit(*this);
  double largest = 0;
  for (int64_t b = 0; b < problem.c.batch; ++b)
    for (int64_t h = 0; h < problem.c.heads_q; ++h)
      for (int64_t i = 0; i < problem.seqlen_q(b); ++i)
        for (int64_t j = 0; j < problem.seqlen_k(b); ++j) {
          if (!attends(b, h, i, j)) continue;
          const double s = logit(b, h, i, j);
          if (std::isfinite(s)) largest = std::max(largest, std::fabs(s));
        }
  return largest;
}

Inputs make_inputs(const Problem& problem, Kind kind, Layout layout, uint64_t seed) {
  Inputs inputs(problem);
  Maker(inputs, kind, layout, seed).run();
  return inputs;
}

}  // namespace test
