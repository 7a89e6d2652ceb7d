// What float32 may lose of each element of the results, by docs/architecture.md: each float32 sum may lose a part of
// its terms, however little is left of the sum. The terms are this element's alone, so that one row whose sums cancel
// excuses nothing in others.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "cli/rule/rows.hpp"

namespace rapt::cli {

namespace {

constexpr double kUnit = 0x1p-24;
constexpr double kLeastNormal = 0x1p-126;  // a weight below it may count as 0
constexpr double kLeast = 0x1p-149;        // and is a multiple of it
constexpr double kVague = 0x1p-4;          // a relative error of a weight from which on errors are not independent

std::vector<double> finite_values(const Array& a) {
  std::vector<double> values = a.values();
  for (double& x : values)
    if (!std::isfinite(x)) x = 0;
  return values;
}

double square(double x) { return x * x; }

// Errors of elements that are sums of terms.
class Elements {
 public:
  // The type is of each term, if terms are rounded.
  explicit Elements(int64_t n, const rapt_dtype* type = nullptr)
      : squares_(static_cast<size_t>(n)), sums_(static_cast<size_t>(n)), terms_(static_cast<size_t>(n)), type_(type) {}

  bool empty() const { return terms_.empty(); }
  // Errors of terms are independent, so that their squares add up. Those of vague weights may all have one cause.
  void add(size_t at, double error, double term, bool vague) {
    const double one = 1;
    add_row(at, {&one, 1}, error, term, vague);
  }
  // The same for elements from `at` on, times these factors.
  void add_row(size_t at, std::span<const double> factors, double error, double term, bool vague) {
    const double of_sum = vague ? error : 0;
    const double of_squares = square(vague ? 0 : error) + square(type_ ? rounding(*type_, term) : 0);
    add_products(squares_.data() + at, of_squares, factors, [](double x) { return x * x; });
    if (term != 0) add_products(terms_.data() + at, term, factors, [](double x) { return std::fabs(x); });
    double* sums = sums_.data() + at;
    if (of_sum != 0) add_products(sums, of_sum, factors, [](double x) { return std::fabs(x); });
    // Dot products of bf16 take denormal numbers for 0.
    if (!type_ || type_->code != RAPT_BFLOAT || term == 0) return;
    for (size_t c = 0; c < factors.size(); ++c)
      sums[c] += std::min(std::fabs(factors[c]), term) < kLeastNormal ? term * std::fabs(factors[c]) : 0;
  }
  std::vector<double> errors(double factor) const {
    std::vector<double> all;
    for (size_t n = 0; n < terms_.size(); ++n)
      all.push_back(factor * (std::sqrt(squares_[n]) + sums_[n] + kSumLoses * terms_[n]));
    return all;
  }

 private:
  template <class Of>
  static void add_products(double* __restrict to, double by, std::span<const double> factors, const Of& of) {
    const double* __restrict from = factors.data();
    const size_t count = factors.size();
    for (size_t c = 0; c < count; ++c) to[c] += by * of(from[c]);
  }

  std::vector<double> squares_, sums_, terms_;
  const rapt_dtype* type_;
};

// Rows of `size` numbers, and their magnitudes.
class Matrix {
 public:
  Matrix() = default;
  Matrix(const Array& a, int64_t size) : values_(finite_values(a)), size_(static_cast<size_t>(size)) {
    for (const double x : values_) magnitudes_.push_back(std::fabs(x));
  }
  std::span<const double> row(int64_t n) const { return {values_.data() + static_cast<size_t>(n) * size_, size_}; }
  std::span<const double> magnitudes(int64_t n) const {
    return {magnitudes_.data() + static_cast<size_t>(n) * size_, size_};
  }

 private:
  std::vector<double> values_, magnitudes_;
  size_t size_ = 0;
};

bool has_weight(double x, double error) { return x + error >= kNoWeight; }

// By how much a weight e^x may change if x is off by `error`. No weight exceeds 1.
double change(double x, double weight, double error) {
  if (!has_weight(x, error)) return weight;  // which is lost
  if (weight < kLeastNormal) return std::min(1.0, std::exp(x + error) + kLeast);
  return std::min(1.0, weight * std::expm1(error));
}

// One row's keys.
struct Keys {
  double sink, sink_error;  // the sink less lse, and how far it may be off
  int64_t query;            // where the row's query is, and its keys are
  std::vector<int64_t> place;
  std::vector<double> x, error;   // the logit less lse, and how far it may be off
  std::vector<double> of_slope;   // the relative error of softcap's slope
  std::vector<double> weight;     // P
  std::vector<double> off;        // by how much P may be off, given lse
  std::vector<double> off_alone;  // the same, where lse is made from the same logits
  double own_lse;                 // how far lse may be off
  bool equal;                     // all logits

  bool vague(size_t n) const { return error[n] > kVague; }
};

class Own {
 public:
  Own(const rapt_problem& p, const MadeTensors& t, const Array& dout, const Array& out)
      : p_(p),
        t_(t),
        scale_(scale_of(p)),
        keep_(1 / (1 - p.dropout)),
        type_(t.q.dtype()),
        given_(static_cast<bool>(out)),
        q_(t.q, p.head_dim),
        k_(t.k, p.head_dim),
        v_(t.v, p.head_dim_v),
        lse_(static_cast<size_t>(row_count(p))),
        out_(row_count(p) * p.head_dim_v, &type_),
        dq_(dout ? t.q.count() : 0, &type_),
        dk_(dout ? t.k.count() : 0, &type_),
        dv_(dout ? t.v.count() : 0, &type_),
        dbias_(dout && t.bias ? t.bias.count() : 0),
        dsink_(dout && t.sink ? p.heads_q : 0) {
    if (dout) dout_ = Matrix(dout, p.head_dim_v);
    if (out) out_given_ = Matrix(out, p.head_dim_v);
    each_row(p, t, [&](const Row& row) {
      if (!std::isfinite(row.lse())) return;
      const Keys keys = keys_of(row);
      lse_[static_cast<size_t>(row.index)] = keys.own_lse;
      add_out(row, keys);
      if (dout) add_gradients(row, keys);
    });
  }

  Bounds all() const {
    return {{"out", out_.errors(1)},    {"lse", lse_},         {"dq", dq_.errors(scale_)},
            {"dk", dk_.errors(scale_)}, {"dv", dv_.errors(1)}, {"dbias", dbias_.errors(1)},
            {"dsink", dsink_.errors(1)}};
  }

 private:
  Keys keys_of(const Row& row) const {
    Keys keys;
    keys.query = query_place(p_, row);
    const double log_sum = row.log_sum(), lse = row.top + log_sum;
    keys.sink = row.sink - row.top - log_sum;
    keys.sink_error = logit_error(lse, std::isfinite(keys.sink) ? keys.sink : 0, 0, 0);
    const auto of_q = q_.magnitudes(keys.query);
    for (size_t n = 0; n < row.keys.size(); ++n) {
      keys.place.push_back(key_place(p_, t_, row, row.keys[n]));
      const double terms = scale_ * dot(of_q, k_.magnitudes(keys.place[n])), x = row.logits[n] - row.top - log_sum;
      keys.x.push_back(x);
      keys.error.push_back(logit_error(lse, std::isfinite(x) ? x : 0, row.slopes[n], terms));
      keys.of_slope.push_back(p_.softcap != 0 ? 2 * kProductLoses * terms / p_.softcap : 0);
      keys.weight.push_back(std::exp(x));
      keys.off.push_back(change(x, keys.weight[n], keys.error[n]));
    }
    keys.own_lse = log_of_sum(keys);
    for (size_t n = 0; n < row.keys.size(); ++n)
      keys.off_alone.push_back(has_weight(keys.x[n], keys.error[n] + keys.own_lse)
                                   ? change(keys.x[n], keys.weight[n], keys.error[n] + keys.own_lse)
                                   : 0);
    // Kernels give the logits of equal keys equal weights.
    keys.equal = !has_weight(keys.sink, keys.sink_error + keys.own_lse);
    const auto top = static_cast<size_t>(std::ranges::max_element(row.logits) - row.logits.begin());
    for (size_t n = 0; n < row.keys.size(); ++n)
      keys.equal = keys.equal && (keys.off_alone[n] == 0 || (row.logits[n] == row.top && equal_products(keys, n, top)));
    if (keys.equal) std::ranges::fill(keys.off_alone, 0);
    return keys;
  }

  bool equal_products(const Keys& keys, size_t n, size_t other) const {
    const auto of_q = q_.row(keys.query);
    return scale_ == 0 || std::ranges::all_of(of_q, [](double x) { return x == 0; }) ||
           std::ranges::equal(k_.row(keys.place[n]), k_.row(keys.place[other]));
  }

  // The logarithm of the sum of the weights, if each logit is too large by its error.
  static double log_of_sum(const Keys& keys) {
    double highest = keys.sink + keys.sink_error, sum = 0;
    for (size_t n = 0; n < keys.x.size(); ++n) highest = std::max(highest, keys.x[n] + keys.error[n]);
    for (size_t n = 0; n < keys.x.size(); ++n) sum += std::exp(keys.x[n] + keys.error[n] - highest);
    return highest + std::log(sum + std::exp(keys.sink + keys.sink_error - highest));
  }

  // How far a term of a mean may be from the mean: exactly; or with dropout, whose mask is not known here, at most.
  double distance(double x, double mean, double magnitude) const {
    return p_.dropout == 0 ? std::fabs(x - mean) : keep_ * (std::fabs(x) + magnitude);
  }

  // Means of values over the weights: rows of `dim` values, one for each key.
  struct Means {
    std::vector<double> mean, magnitude, error;  // of the values, of their magnitudes; by how much a mean may be off
  };
  template <class Values>
  Means means_of(const Keys& keys, size_t dim, const Values& values) const {
    Means of{std::vector<double>(dim), std::vector<double>(dim), std::vector<double>(dim)};
    for (size_t n = 0; n < keys.x.size(); ++n) {
      const double* x = values(n);
      for (size_t c = 0; c < dim; ++c) {
        of.mean[c] += keys.weight[n] * x[c];
        of.magnitude[c] += keys.weight[n] * std::fabs(x[c]);
      }
    }
    std::vector<double> squares(dim), most(dim);
    for (size_t n = 0; n < keys.x.size(); ++n) {
      if (keys.off_alone[n] == 0) continue;
      const double* x = values(n);
      for (size_t c = 0; c < dim; ++c) {
        const double apart = distance(x[c], of.mean[c], of.magnitude[c]), error = keys.off_alone[n] * apart;
        (keys.vague(n) ? of.error[c] : squares[c]) += keys.vague(n) ? error : square(error);
        most[c] = std::max(most[c], apart);
      }
    }
    for (size_t c = 0; c < dim; ++c) of.error[c] = std::min(std::sqrt(squares[c]) + of.error[c], most[c]);
    return of;
  }

  void add_out(const Row& row, const Keys& keys) {
    const auto dim = static_cast<size_t>(p_.head_dim_v), first = static_cast<size_t>(keys.query) * dim;
    const Means of = means_of(keys, dim, [&](size_t n) { return v_.row(keys.place[n]).data(); });
    out_.add_row(first, of.error, 1, 0, true);
    for (size_t n = 0; n < row.keys.size(); ++n)
      out_.add_row(first, v_.magnitudes(keys.place[n]), 0, keep_ * keys.weight[n], false);
    if (!keys.equal || row.keys.empty()) return;
    // Additions of equal terms all round the same way, and so do equal weights.
    const auto count =
        static_cast<double>(std::ranges::count_if(keys.weight, [](double weight) { return weight > 0; }));
    out_.add_row(first, of.magnitude, keep_ * count * kUnit / 2, 0, true);
    out_.add_row(first, p_.dropout == 0 ? of.mean : of.magnitude, keep_ * unit_of(type_), 0, false);
  }

  // dP and delta of a row, and what may be off in them.
  struct Products {
    std::vector<double> apart, lost;  // |dP - delta|; of dP
    double delta, delta_lost;         // |delta|; of it
  };
  Products products_of(const Row& row, const Keys& keys) const {
    const int64_t query = keys.query;
    Products products;
    std::vector<double> dp;
    double lost = 0, most = 0;
    for (size_t n = 0; n < row.keys.size(); ++n) {
      const int64_t key = keys.place[n];
      dp.push_back(dot(dout_.row(query), v_.row(key)));
      products.lost.push_back(kProductLoses * keep_ * dot(dout_.magnitudes(query), v_.magnitudes(key)));
      lost += (keys.weight[n] + keys.off[n]) * products.lost[n];
      most = std::max(most, products.lost[n]);
    }
    const Means of = means_of(keys, 1, [&](size_t n) { return &dp[n]; });
    products.delta_lost = std::min(lost, most);
    if (given_) {
      const double delta = dot(dout_.row(query), out_given_.row(query));
      for (const double x : dp)
        products.apart.push_back(p_.dropout == 0 ? std::fabs(x - delta)
                                                 : std::max(std::fabs(keep_ * x - delta), std::fabs(delta)));
      products.delta = std::fabs(delta);
      products.delta_lost += kProductLoses * dot(dout_.magnitudes(query), out_given_.magnitudes(query));
    } else {
      for (const double x : dp) products.apart.push_back(distance(x, of.mean[0], of.magnitude[0]));
      products.delta = distance(0, of.mean[0], of.magnitude[0]);
      products.delta_lost += of.error[0];  // an error of out is one of delta
    }
    // Elements of out are rounded to the least number, and bf16's denormal ones count as 0.
    double sum = 0;
    for (const double x : dout_.magnitudes(query)) sum += x;
    const double least = type_.code == RAPT_BFLOAT ? kLeastNormal : kLeast;
    products.delta_lost += std::min(least * sum, keep_ * of.magnitude[0]);
    return products;
  }

  void add_gradients(const Row& row, const Keys& keys) {
    const Products of = products_of(row, keys);
    if (!dsink_.empty()) {
      const double weight = std::exp(keys.sink), off = change(keys.sink, weight, keys.sink_error);
      dsink_.add(static_cast<size_t>(row.h), off * of.delta + (weight + off) * of.delta_lost, weight * of.delta,
                 keys.sink_error > kVague);
    }
    if (!dbias_.empty()) add_dbias(row, keys, of);
    const auto dim = static_cast<size_t>(p_.head_dim), dim_v = static_cast<size_t>(p_.head_dim_v);
    const int64_t query = keys.query;
    std::vector<double> of_delta(dim);  // what dq has of it, which is the same for all keys
    for (size_t n = 0; n < row.keys.size(); ++n) {
      if (keys.weight[n] + keys.off[n] == 0) continue;
      const bool vague = keys.vague(n);
      const int64_t key = keys.place[n];
      dv_.add_row(static_cast<size_t>(key) * dim_v, dout_.magnitudes(query), keep_ * keys.off[n],
                  keep_ * keys.weight[n], vague);
      const double slope = row.slopes[n], weight = slope * keys.weight[n], size = weight * of.apart[n];
      double off = keys.off[n];
      if (p_.softcap != 0) {
        off = change(keys.x[n] + std::log(slope), weight, keys.error[n] + keys.of_slope[n]);
        off += 2 * kUnit * (keys.weight[n] + keys.off[n]);  // 1 - tanh^2 loses small slopes
      }
      const double error = off * of.apart[n] + (weight + off) * of.lost[n];
      for (size_t c = 0; c < dim; ++c) of_delta[c] += weight * k_.row(key)[c];
      dq_.add_row(static_cast<size_t>(query) * dim, k_.magnitudes(key), error, size, vague);
      dk_.add_row(static_cast<size_t>(key) * dim, q_.magnitudes(query), error + (weight + off) * of.delta_lost, size,
                  vague);
    }
    dq_.add_row(static_cast<size_t>(query) * dim, of_delta, of.delta_lost, 0, false);
  }

  void add_dbias(const Row& row, const Keys& keys, const Products& of) {
    const bool one_key = t_.bias.shape()[3] == 1;  // for which delta's error is one
    double weights = 0;
    for (size_t n = 0; n < row.keys.size(); ++n) {
      const double weight = keys.weight[n], off = keys.off[n];
      weights += weight + off;
      dbias_.add(bias_place(t_, row, row.keys[n]),
                 off * of.apart[n] + (weight + off) * (of.lost[n] + (one_key ? 0 : of.delta_lost)),
                 weight * of.apart[n], keys.vague(n));
    }
    if (one_key && !row.keys.empty())
      dbias_.add(bias_place(t_, row, 0), std::min(1.0, weights) * of.delta_lost, 0, false);
  }

  const rapt_problem& p_;
  const MadeTensors& t_;
  const double scale_, keep_;
  const rapt_dtype type_;
  const bool given_;
  Matrix q_, k_, v_, dout_, out_given_;
  std::vector<double> lse_;
  Elements out_, dq_, dk_, dv_, dbias_, dsink_;
};

}  // namespace

Bounds bounds_of(const rapt_problem& p, const MadeTensors& t, const Array* dout, const Array* out) {
  return Own(p, t, dout ? *dout : Array(), out ? *out : Array()).all();
}

}  // namespace rapt::cli
