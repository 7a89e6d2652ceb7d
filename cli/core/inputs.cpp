#include "cli/core/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "cli/core/dtype.hpp"
#include "cli/core/error.hpp"

namespace rapt::cli {

namespace {

constexpr std::pair<const char*, InputKind> kKinds[] = {
    {"normal", InputKind::normal},       {"outliers", InputKind::outliers},     {"large", InputKind::large},
    {"identical", InputKind::identical}, {"constant-v", InputKind::constant_v}, {"masked-rows", InputKind::masked_rows},
};

constexpr int64_t kGap = 5;  // elements after each row of a padded tensor

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

enum Stream : uint64_t { kQ = 1, kK, kV, kBias, kMask, kAlibi, kSink, kOutliers, kPages };

void scale_all(Array& a, double factor) {
  for (int64_t i = 0; i < a.count(); ++i) a.set(i, a.get(i) * factor);
}

void add_outliers(Array& a, uint64_t seed, uint64_t stream) {
  Random random(seed, kOutliers * 64 + stream);
  for (int64_t i = 0; i < a.count(); ++i)
    if (random.uniform() < 0.01) a.set(i, a.get(i) * 30);
}

void repeat_first_row(Array& a) {  // the last dimension is a row
  const int64_t row = (a.shape().back() + a.gap()) * bytes_of(a.dtype());
  for (int64_t at = row; at < a.bytes(); at += row) std::memcpy(a.data() + at, a.data(), row);
}

std::vector<int64_t> score_shape(const rapt_problem& p, int32_t bits) {
  return {bits & RAPT_PER_BATCH ? p.batch : 1, bits & RAPT_PER_HEAD ? p.heads_q : 1,
          bits & RAPT_PER_QUERY ? p.seqlen_q : 1, p.seqlen_k};
}

// Clears the first query row of each (batch, head) plane.
void clear_first_rows(Array& scores, double value) {
  const int64_t keys = scores.shape()[3], plane = scores.shape()[2] * keys;
  if (scores.shape()[2] < 2) return;  // one row serves all queries: clearing it would leave nothing to compute
  for (int64_t at = 0; at < scores.count(); at += plane)
    for (int64_t j = 0; j < keys; ++j) scores.set(at + j, value);
}

void make_packed(const rapt_problem& p, int64_t gap, Attention& a) {
  a.cu_seqlens_q = Array(kInt32, {p.batch + 1});
  Array keys(kInt32, {p.batch + 1});
  for (int64_t b = 0; b < p.batch; ++b) {
    a.cu_seqlens_q->set(b + 1, a.cu_seqlens_q->get(b) + static_cast<double>(p.varlen[2 * b]));
    keys.set(b + 1, keys.get(b) + static_cast<double>(p.varlen[2 * b + 1]));
  }
  const auto total_q = static_cast<int64_t>(a.cu_seqlens_q->get(p.batch));
  const auto total_k = static_cast<int64_t>(keys.get(p.batch));
  a.q = Array(p.dtype, {total_q, p.heads_q, p.head_dim}, gap);
  if (p.page != 0) return;
  a.k = Array(p.dtype, {total_k, p.heads_k, p.head_dim}, gap);
  a.v = Array(p.dtype, {total_k, p.heads_k, p.head_dim_v}, gap);
  a.cu_seqlens_k = std::move(keys);
}

void make_paged(const rapt_problem& p, uint64_t seed, int64_t gap, Attention& a) {
  const int64_t pages = (p.seqlen_k + p.page - 1) / p.page, total = p.batch * pages;
  a.k = Array(p.dtype, {total, p.page, p.heads_k, p.head_dim}, gap);
  a.v = Array(p.dtype, {total, p.page, p.heads_k, p.head_dim_v}, gap);
  a.seqused_k = Array(kInt32, {p.batch});
  a.block_table = Array(kInt32, {p.batch, pages});
  for (int64_t b = 0; b < p.batch; ++b)
    a.seqused_k->set(b, static_cast<double>(p.varlen_count != 0 ? p.varlen[2 * b + 1] : p.seqlen_k));
  auto table = a.block_table->as<int32_t>();
  std::iota(table.begin(), table.end(), 0);
  Random random(seed, kPages);
  for (size_t i = table.size(); i > 1; --i) std::swap(table[i - 1], table[random.bits() % i]);
}

void make_options(const rapt_problem& p, InputKind kind, uint64_t seed, Attention& a) {
  const double nothing = -std::numeric_limits<double>::infinity();
  if (p.has_bias) {
    a.bias = Array(p.dtype, score_shape(p, p.bias_shape));
    fill_normal(*a.bias, seed, kBias);
    if (kind == InputKind::masked_rows) clear_first_rows(*a.bias, nothing);
  }
  if (p.has_mask) {
    a.mask = Array(kBool, score_shape(p, p.mask_shape));
    Random random(seed, kMask);
    for (int64_t i = 0; i < a.mask->count(); ++i) a.mask->set(i, random.uniform() < 0.8 ? 1 : 0);
    if (kind == InputKind::masked_rows) clear_first_rows(*a.mask, 0);
  }
  if (p.has_alibi) {
    a.alibi_slopes = Array(kFp32, {p.heads_q});
    for (int64_t h = 0; h < p.heads_q; ++h)
      a.alibi_slopes->set(h, std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(p.heads_q)));
  }
  if (p.has_sink) {
    a.sink = Array(p.dtype, {p.heads_q});
    fill_normal(*a.sink, seed, kSink);
  }
}

// What a problem's text can say and this file cannot make.
void require_makeable(const Problem& problem) {
  const rapt_problem p = problem.c();
  if (p.device_lengths || (p.has_cache && p.page == 0) || p.whole_cache || p.has_leftpad || p.has_batch_idx ||
      p.seqlen_new != 0 || p.rotary_dim != 0 || (p.alignment != 0 && p.alignment < 16) || p.row_stride != 0)
    throw InputError(
        fmt::format("'{}' is for `rapt explain`: tensors are made for packed lengths in host memory, paged "
                    "caches and compact rows",
                    problem.text()));
}

}  // namespace

InputKind parse_input_kind(const std::string& name) {
  for (const auto& [text, kind] : kKinds)
    if (name == text) return kind;
  throw InputError(fmt::format("input kind '{}' is unknown; use {}", name, input_kind_names()));
}

std::string input_kind_name(InputKind wanted) {
  for (const auto& [text, kind] : kKinds)
    if (kind == wanted) return text;
  return "";
}

std::string input_kind_names() {
  std::string names;
  for (const auto& [text, kind] : kKinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", text);
  return names;
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
  const int64_t block = distinct * bytes_of(array.dtype());
  for (int64_t at = block; at < array.bytes(); at += block)
    std::memcpy(array.data() + at, array.data(), std::min(block, array.bytes() - at));
}

Attention make_inputs(const Problem& problem, InputKind kind, uint64_t seed, Layout layout) {
  require_makeable(problem);
  const rapt_problem p = problem.c();
  const bool heads_first = layout.heads_first;
  const int64_t gap = layout.padded ? kGap : 0;
  const auto rows = [&](int64_t seqlen, int64_t heads, int64_t dim) {
    Array a(p.dtype, {p.batch, heads_first ? heads : seqlen, heads_first ? seqlen : heads, dim}, gap);
    if (heads_first) a.swap_dimensions(1, 2);
    return a;
  };
  Attention a;
  if (p.varlen_count != 0) make_packed(p, gap, a);
  else a.q = rows(p.seqlen_q, p.heads_q, p.head_dim);
  if (p.page != 0) {
    make_paged(p, seed, gap, a);
  } else if (p.varlen_count == 0) {
    a.k = rows(p.seqlen_k, p.heads_k, p.head_dim);
    a.v = rows(p.seqlen_k, p.heads_k, p.head_dim_v);
  }
  fill_normal(a.q, seed, kQ);
  fill_normal(a.k, seed, kK);
  fill_normal(a.v, seed, kV);
  for (Array* x : {&a.q, &a.k}) {
    if (kind == InputKind::outliers) add_outliers(*x, seed, x == &a.q ? kQ : kK);
    if (kind == InputKind::large) scale_all(*x, 100);
    if (kind == InputKind::identical) repeat_first_row(*x);
  }
  if (kind == InputKind::constant_v)
    for (int64_t i = 0; i < a.v.count(); ++i) a.v.set(i, 1);
  for (Array* x : {&a.q, &a.k, &a.v}) x->fill_gaps(std::numeric_limits<double>::quiet_NaN());
  make_options(p, kind, seed, a);
  set_options(a.options, problem, seed);
  a.seed = seed;
  return a;
}

int64_t input_bytes(const Problem& problem) {
  const rapt_problem p = problem.c();
  const int64_t q_rows = p.batch * p.heads_q * p.seqlen_q, k_rows = p.batch * p.heads_k * p.seqlen_k;
  int64_t elements = (q_rows + k_rows) * (p.head_dim + p.head_dim_v);
  if (p.has_bias) {
    const auto shape = score_shape(p, p.bias_shape);
    elements += std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  }
  int64_t bytes = elements * bytes_of(p.dtype);
  if (p.has_mask) {
    const auto shape = score_shape(p, p.mask_shape);
    bytes += std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  }
  return bytes;
}

}  // namespace rapt::cli
