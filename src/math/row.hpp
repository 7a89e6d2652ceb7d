// One row of attention, (sequence, query head, query): its logits with every option applied, and its dropout factors.
// Forward and backward share it, so both have the same probabilities.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/common/philox.h"
#include "math/arithmetic.hpp"
#include "problem/call.hpp"

namespace rapt::math {

template <class Acc>
inline constexpr Acc kMinusInfinity = -std::numeric_limits<Acc>::infinity();

struct Row {
  const Call& call;
  const Sequence& sequence;
  int64_t head;        // query head
  int64_t query;       // i, within the sequence
  int64_t begin, end;  // the keys that causality and window allow

  Row(const Call& c, const Sequence& s, int64_t h, int64_t i)
      : call(c), sequence(s), head(h), query(i), begin(s.key_begin(c, i)), end(s.key_end(c, i)) {
    end = std::max(begin, end);
  }

  int64_t keys() const { return end - begin; }
  int64_t head_k() const { return head / call.group(); }

  template <class T>
  const T* key(int64_t j) const {
    return reinterpret_cast<const T*>(call.k.data) + key_offset(call, call.k, sequence, j, head_k());
  }
  template <class T>
  const T* value(int64_t j) const {
    return reinterpret_cast<const T*>(call.v.data) + key_offset(call, call.v, sequence, j, head_k());
  }
  template <class T>
  T* at_query(const View& view) const {
    return reinterpret_cast<T*>(view.data) + query_offset(view, sequence, query, head);
  }
  template <class Acc>
  Acc* lse(const LseView& view) const {
    return reinterpret_cast<Acc*>(view.data) + lse_offset(view, sequence, query, head);
  }
  int64_t score_offset(const ScoreView& view, int64_t j) const {
    return sequence.index * view.batch + head * view.head + query * view.query + j * view.key;
  }
  bool excluded(int64_t j) const { return call.mask && !call.mask.data[score_offset(call.mask, j)]; }
};

// True if softcap caps the logits.
inline bool caps_logits(const Call& call) { return call.softcap != 0; }

// What is added to the scaled and capped logit of key j.
template <class Acc>
Acc added_terms(const Row& row, Acc slope, int64_t j) {
  Acc added = 0;
  if (row.call.bias) added += load<Acc>(row.call.bias.data, row.call.bias.dtype, row.score_offset(row.call.bias, j));
  if (slope != 0) added -= slope * static_cast<Acc>(std::abs(row.query + row.sequence.diagonal - j));
  return added;
}

// The slope of tanh at x, where it is t. Other results are compared with float64, so there small slopes are exact too.
template <class Acc>
Acc tanh_slope(Acc x, Acc t) {
  if constexpr (std::is_same_v<Acc, float>) return 1 - t * t;
  const Acc e = std::exp(-2 * std::fabs(x));
  return 4 * e / ((1 + e) * (1 + e));
}

// The final logits of keys [begin, end), -inf for masked keys, which are not read. q is the row's query. `cap_slope`,
// if given, receives d(capped logit) / d(logit).
template <class T, class Acc>
void logits(const Row& row, const Acc* q, Acc* out, Acc* cap_slope = nullptr) {
  const Call& call = row.call;
  const Acc scale = static_cast<Acc>(call.scale), cap = static_cast<Acc>(call.softcap);
  const HeadVector& alibi = call.alibi;
  const Acc slope =
      alibi ? load<Acc>(alibi.data, alibi.dtype, row.sequence.index * alibi.batch + row.head * alibi.head) : Acc(0);
  for (int64_t j = row.begin; j < row.end; ++j, ++out) {
    if (row.excluded(j)) {
      *out = kMinusInfinity<Acc>;
      continue;
    }
    Acc s = scale * dot(q, row.key<T>(j), call.head_dim);
    if (caps_logits(call)) {
      const Acc x = s / cap, t = std::tanh(x);
      s = cap * t;
      if (cap_slope) cap_slope[j - row.begin] = tanh_slope(x, t);
    }
    *out = s + added_terms(row, slope, j);
  }
}

// Factors of the probabilities: 0 if dropped, 1 / (1 - p) if kept. Columns must be requested in ascending order.
template <class Acc>
class RowDropout {
 public:
  explicit RowDropout(const Row& row)
      : call_(row.call),
        row_(static_cast<uint32_t>(row.query)),
        stream_(static_cast<uint32_t>(row.sequence.index * row.call.heads_q + row.head)),
        threshold_(rapt_keep_threshold(call_.dropout)),
        kept_(static_cast<Acc>(1 / (1 - call_.dropout))) {}

  Acc factor(int64_t j) {
    if (call_.dropout == 0) return 1;
    const uint32_t column = static_cast<uint32_t>(j);
    if (j / 4 != block_) {
      block_ = j / 4;
      bits_ =
          rapt_philox(call_.dropout_seed, column / 4, row_ / 2, stream_, static_cast<uint32_t>(call_.dropout_offset));
    }
    return rapt_philox_field(bits_, row_, column) < threshold_ ? kept_ : Acc(0);
  }

 private:
  const Call& call_;
  uint32_t row_, stream_, threshold_;
  Acc kept_;
  int64_t block_ = -1;
  rapt_philox_bits bits_ = {};
};

}  // namespace rapt::math
