// Makes the operands of a block of queries (QueryOperands) for the backward pass, before it meets keys.
#pragma once

#include <limits>

#include "cpu/tiers/backward_scratch.hpp"
#include "cpu/tiers/small_numbers.hpp"

namespace rapt::cpu::RAPT_TIER {

// Words of a query as an operand of S and dP, filled up to whole tiles where there are tiles.
template <class T>
constexpr int64_t lane_words(int64_t dim) {
  constexpr bool kDot = kBlockDot<T>;
  return kDot && kHasTiles ? padded(words<kDot>(dim)) : words<kDot>(dim);
}

template <class T>
const T* query_row(const View& view, const Sequence& s, const QueryLanes& lanes, int64_t lane) {
  return reinterpret_cast<const T*>(view.data) + query_offset(view, s, lanes.query[lane], lanes.head[lane]);
}

// Rows (null: zeros) row-major as the second operand of dK and dV.
template <bool kDot, class T>
inline void gather_rows(const T* const* rows, int64_t count, int64_t dim, int64_t row, float* out) {
  if constexpr (kDot) {
#if defined(__AVX512BF16__)
    static constexpr Bf16 kZeros[kMaxHeadDim] = {};
    for (int64_t i = 0; i < count; i += 2)
      interleave_rows(rows[i] ? rows[i] : kZeros, rows[i + 1] ? rows[i + 1] : kZeros, dim, out + i / 2 * row);
#endif
  } else {
    for (int64_t i = 0; i < count; ++i) {
      if (rows[i]) copy_row<false>(rows[i], dim, out + i * row);
      else std::memset(out + i * row, 0, static_cast<size_t>(row) * sizeof(float));
    }
  }
}

// delta = rowsum(dO * O), in the order in which the micro-kernel sums dP = V dO^T. A row that attends one key has O =
// V, so its dP - delta is exactly 0, as in the plain formula.
template <class T>
F row_products(const T* const* out, int64_t dim, const float* do_lanes, float* out_lanes) {
  constexpr bool kDot = kBlockDot<T>;
  transpose_rows<kDot>(out, dim, out_lanes, kLanes);
  const int64_t words = lane_words<T>(dim), step = chain_length<kDot>(dim, words);
  F total = F{};
  for (int64_t first = 0; first < words; first += step) {
    F part = F{};
    for (int64_t w = first; w < std::min(first + step, words); ++w)
      part = multiply_add<kDot>(part, load(out_lanes + w * kLanes), load(do_lanes + w * kGroupLanes));
    total = total + part;
  }
  return total;
}

#if defined(__AMX_BF16__)
// delta = rowsum(dO * O) in the order in which tiles sum dP = V dO^T: the diagonal of each group's O dO^T. Null rows of
// O are zeros.
inline void tile_deltas(const BackwardScratch& w, const QueryOperands& queries, const Bf16* const* out, int64_t dim) {
  const int64_t row = padded(words<true>(dim));
  float *rows = w.p_block, *products = w.s;
  for (int64_t at = 0; at < w.lanes->groups * kGroupLanes; at += kGroupLanes) {
    for (int64_t i = 0; i < kGroupLanes; ++i)
      for (int64_t x = 0; x < row; x += kLanes)
        store(rows + i * row + x, out[at + i] ? load_words<true>(out[at + i], x, dim) : F{});
    tile_product<false>(kGroupLanes, rows, row, queries.do_lanes + at * row, kGroupLanes, row, products, kGroupLanes);
    for (int64_t i = 0; i < kGroupLanes; ++i) queries.delta[at + i] = products[i * kGroupLanes + i];
  }
}
#endif

// The sizes of rows of q and dO. A null row does not count.
inline QuerySizes sizes_of(const BackwardCall& call, const Bf16* const* q, const Bf16* const* dout, const float* lse,
                           int64_t head, int64_t n) {
  Sizes of_q, of_dout;
  const float sink = call.sink ? sink_of(call, head) : -INFINITY;
  bool sunk = static_cast<bool>(call.sink);
  for (int64_t at = 0; at < n; ++at) {
    if (!q[at]) continue;
    of_q.add(q[at], call.head_dim);
    of_dout.add(dout[at], call.head_dim_v);
    sunk &= lse[at] - sink <= 0x1p-20f * std::max(1.f, std::fabs(sink));
  }
  return {of_q.most(), of_dout.most(), of_q.has_denormal() || of_dout.has_denormal(), sunk};
}

// Makes the operands of the lanes' queries [0, n), all of one head. Rows that attend nothing (lse -inf) count as zero
// rows: P is finite and all its factors are 0. Where plain strips are made, a row of huge lse counts as not finite:
// rounding alone could take the exponent of its P out of exp2's range. special_strip() keeps P at most 1. Also, all
// strips of such a row must be made in one way: the two ways round large exponents differently, which shows where terms
// cancel.
template <class T>
void make_operands(const BackwardCall& call, const Sequence& s, const BackwardScratch& w, const QueryOperands& o,
                   int64_t head, int64_t n) {
  constexpr bool kDot = kBlockDot<T>, kTiles = kDot && kHasTiles;
  if constexpr (kTiles) o.clear(call);
  const QueryLanes& lanes = *w.lanes;
  const float* lse = reinterpret_cast<const float*>(call.lse.data);
  const int64_t all = lanes.groups * kGroupLanes, dim = call.head_dim, dim_v = call.head_dim_v;
  const auto row = [&](const View& view, int64_t lane) { return query_row<T>(view, s, lanes, lane); };
  for (int64_t lane = 0; lane < n; ++lane) {
    prefetch_row(row(call.q, lane), dim);
    prefetch_row(row(call.dout, lane), dim_v);
    prefetch_row(row(call.out, lane), dim_v);
  }
  const T *q[kQueryBlock], *dout[kQueryBlock], *out[kQueryBlock];
  const bool special = has_score_options(call) || call.dropout != 0;
  const float largest_lse = special ? std::numeric_limits<float>::max() : 0x1p12f;
  bool lse_finite = true;
  for (int64_t at = 0; at < all; ++at) {
    const float value = lse[lse_offset(call.lse, s, lanes.query[at], head)];
    const bool used = at < n && value != -INFINITY;
    lse_finite &= !used || std::fabs(value) <= largest_lse;
    q[at] = used ? row(call.q, at) : nullptr;
    dout[at] = used ? row(call.dout, at) : nullptr;
    out[at] = used ? row(call.out, at) : nullptr;
    const double exact = static_cast<double>(value) * 1.4426950408889634;
    o.lse[at] = used ? value : INFINITY;  // P is 0
    o.shift[at] = used ? static_cast<float>(exact) : INFINITY;
    o.shift_rest[at] =
        used && std::isfinite(o.shift[at]) ? static_cast<float>(exact - static_cast<double>(o.shift[at])) : 0;
  }
  for (int64_t at = 0; at < all; at += kLanes) {
    const int64_t group = at / kGroupLanes, lane = at % kGroupLanes;
    float *q_lanes = o.q_lanes + group * lane_words<T>(dim) * kGroupLanes + lane,
          *do_lanes = o.do_lanes + group * lane_words<T>(dim_v) * kGroupLanes + lane;
    transpose_rows<kDot>(q + at, dim, q_lanes, kGroupLanes);
    transpose_rows<kDot>(dout + at, dim_v, do_lanes, kGroupLanes);
    if constexpr (!kTiles) store(o.delta + at, row_products<T>(out + at, dim_v, do_lanes, w.p_block));
  }
#if defined(__AMX_BF16__)
  if constexpr (kTiles) tile_deltas(w, o, out, dim_v);
#endif
  // An Inf or NaN in dO shows in delta. One in q shows in lse too, except where a sink or softcap hides it.
  F seen = zero_if_finite(o.delta, all);
  if (call.sink || call.softcap != 0)
    for (int64_t at = 0; at < n; ++at)
      if (q[at]) seen = seen + zero_if_finite(q[at], dim);
  *o.finite = lse_finite && sum(seen) == 0;
  if constexpr (kDot) *o.sizes = sizes_of(call, q, dout, o.lse, head, n);
  gather_rows<kDot>(q, all, dim, apart(gradient_row(dim)), o.q_rows);
  gather_rows<kDot>(dout, all, dim_v, apart(gradient_row(dim_v)), o.do_rows);
}

}  // namespace rapt::cpu::RAPT_TIER
