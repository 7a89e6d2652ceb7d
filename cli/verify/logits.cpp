// The size of the logits, by the formula of docs/architecture.md. Slow and plain on purpose: it decides how much error
// a backend may have, so it shares nothing with any backend.
#include <algorithm>
#include <cmath>

#include "cli/verify/check.hpp"

namespace rapt::cli {

namespace {

struct Sequence {
  int64_t index, seqlen_q, seqlen_k, first_q, first_k;
};

int64_t integer(const Array& a, int64_t i) { return static_cast<int64_t>(a.at(i)); }

Sequence sequence(const Attention& a, int64_t b) {
  Sequence s{b, a.q.shape()[1], a.k.shape()[1], 0, 0};
  if (a.packed()) {
    s.first_q = integer(*a.cu_seqlens_q, b);
    s.seqlen_q = integer(*a.cu_seqlens_q, b + 1) - s.first_q;
  }
  if (a.cu_seqlens_k) {
    s.first_k = integer(*a.cu_seqlens_k, b);
    s.seqlen_k = integer(*a.cu_seqlens_k, b + 1) - s.first_k;
  } else if (a.block_table) {
    s.seqlen_k = integer(*a.seqused_k, b);
  }
  return s;
}

const double* row(const Array& t, bool packed, int64_t batch, int64_t position, int64_t head) {
  const auto& stride = t.strides();
  const int64_t at =
      packed ? position * stride[0] + head * stride[1] : batch * stride[0] + position * stride[1] + head * stride[2];
  return reinterpret_cast<const double*>(t.first()) + at;
}

const double* key_row(const Attention& a, const Sequence& s, int64_t j, int64_t head) {
  if (a.block_table) {
    const int64_t page = a.k.shape()[1];
    const int64_t block = integer(*a.block_table, s.index * a.block_table->shape()[1] + j / page);
    return row(a.k, false, block, j % page, head);
  }
  return row(a.k, a.cu_seqlens_k.has_value(), s.index, s.first_k + j, head);
}

struct KeyRange {
  int64_t begin, end;
};

KeyRange kept_keys(const Attention& a, const Sequence& s, int64_t diagonal, int64_t i) {
  const int64_t left = a.options.window ? a.options.window->left : -1;
  const int64_t right = a.options.causal != RAPT_NOT_CAUSAL ? 0 : a.options.window ? a.options.window->right : -1;
  const int64_t center = i + diagonal;
  const bool whole_left = left < 0 || left >= center, whole_right = right < 0 || right >= s.seqlen_k - center;
  return {whole_left ? 0 : center - left, whole_right ? s.seqlen_k : std::max<int64_t>(0, center + right + 1)};
}

double largest_of_row(const Attention& a, const Sequence& s, int64_t h, int64_t i) {
  const int64_t d = a.head_dim(), head_k = h / (a.heads_q() / a.heads_k());
  const int64_t diagonal = a.options.causal == RAPT_CAUSAL_TOP_LEFT ? 0 : s.seqlen_k - s.seqlen_q;
  const double scale = a.options.softmax_scale ? *a.options.softmax_scale : 1 / std::sqrt(static_cast<double>(d));
  const double* q = row(a.q, a.packed(), s.index, s.first_q + i, h);
  double slope = 0;
  if (a.alibi_slopes) slope = a.alibi_slopes->at(a.alibi_slopes->shape().size() == 2 ? s.index * a.heads_q() + h : h);
  const KeyRange keys = kept_keys(a, s, diagonal, i);
  double most = 0;
  for (int64_t j = std::max<int64_t>(0, keys.begin); j < std::min(keys.end, s.seqlen_k); ++j) {
    if (a.mask && a.mask->at({s.index, h, i, j}) == 0) continue;
    const double* k = key_row(a, s, j, head_k);
    double x = 0;
    for (int64_t c = 0; c < d; ++c) x += q[c] * k[c];
    x *= scale;
    if (const double cap = a.options.softcap; cap != 0) x = cap * std::tanh(x / cap);
    if (a.bias) x += a.bias->at({s.index, h, i, j});
    x -= slope * std::fabs(static_cast<double>(i + diagonal - j));
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  }
  return most;
}

}  // namespace

double largest_logit(const Attention& a) {
  double most = 0;
  for (int64_t b = 0; b < a.batch(); ++b) {
    const Sequence s = sequence(a, b);
    for (int64_t h = 0; h < a.heads_q(); ++h)
      for (int64_t i = 0; i < s.seqlen_q; ++i) most = std::max(most, largest_of_row(a, s, h, i));
  }
  for (int64_t h = 0; a.sink && h < a.sink->count(); ++h) most = std::max(most, std::fabs(a.sink->at(h)));
  return most;
}

}  // namespace rapt::cli
