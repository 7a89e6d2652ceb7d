// From products to logits: softcap, bias, ALiBi, masks and dropout on a strip [keys][kGroupLanes]. Used only for
// problems with such options, and for blocks at the edge of a mask.
#pragma once

#include <cmath>

#include "cpu/tiers/near_cap.hpp"
#include "kernels/common/philox.h"
#include "problem/with_type.hpp"

namespace rapt::cpu::RAPT_TIER {

// To 1.3e-7 relative: near 0 an odd minimax polynomial, elsewhere 1 - 2 / (exp(2x) + 1).
RAPT_INLINE F tanh(F x) {
  const F u = x * x;
  F p = splat(-0.0057049864f);
  p = fma(p, u, splat(0.020639086f));
  p = fma(p, u, splat(-0.053739715f));
  p = fma(p, u, splat(0.13331442f));
  p = fma(p, u, splat(-0.3333328f));
  const F near = fma(p * u, x, x);
  const F size = float_of(bits_of(x) & 0x7FFFFFFF), capped = size > splat(10.f) ? splat(10.f) : size;
  const F one = splat(1.f), far = one - splat(2.f) / (exp2(capped * splat(2 * kLog2e)) + one);
  const F signed_far = float_of(bits_of(far) | (bits_of(x) & static_cast<int32_t>(0x80000000u)));
  return size > splat(0.625f) ? signed_far : near;  // NaN is not greater: it goes through the polynomial
}

inline float read_float(const char* data, DType dtype, int64_t i) {
  return with_float_type(
      dtype, [&]<class T>(std::type_identity<T>) { return static_cast<float>(reinterpret_cast<const T*>(data)[i]); });
}

// True if every logit needs more than scale and the edges of causality or window.
inline bool has_score_options(const Call& call) { return call.softcap != 0 || call.bias || call.mask || call.alibi; }

inline float sink_of(const Call& call, int64_t head) {
  return read_float(call.sink.data, call.sink.dtype, head * call.sink.head);
}

// A sink of +Inf or NaN joins a row last: as a maximum it would make keys NaN that have no weight, and excluded ones.
inline float early_sink(float sink) { return sink < INFINITY ? sink : -INFINITY; }

// Joins such a sink to a row whose keys have the maximum m and the sum l. +Inf leaves the keys no weight; NaN makes
// their weights NaN. lse becomes the sink. True if out is 0, whatever the keys' values.
inline bool join_last(float sink, float& m, float& l) {
  if (sink < INFINITY) return false;
  m = sink;
  if (std::isnan(sink)) l = l == 0 ? 0.f : sink;
  else if (!std::isnan(l)) l = 1;
  return l == 1;
}

// True if a sink is finite, but not in the log2 domain.
inline bool has_huge_sink(const Call& call) {
  for (int64_t h = 0; call.sink && h < call.heads_q; ++h) {
    const float sink = sink_of(call, h);
    if (std::isfinite(sink) && !std::isfinite(sink * kLog2e)) return true;
  }
  return false;
}

// True if running maxima are natural logits. Otherwise they are products in the log2 domain, which saves an operation.
// That requires a positive scale; a bias of the lowest float32 and a sink of the largest would overflow there.
inline bool has_natural_logits(const Call& call) {
  return has_score_options(call) || !(call.scale > 0) || has_huge_sink(call);
}

// The unit of the maxima in the log2 domain, and in the natural one.
inline float maximum_log2(bool natural) { return natural ? kLog2e : 1.f; }
inline float maximum_unit(bool natural) { return natural ? 1.f : kLn2; }

inline int64_t score_offset(const ScoreView& view, const Sequence& s, int64_t query, int64_t head) {
  return s.index * view.batch + head * view.head + query * view.query;
}

// One number for each query and each of keys [j0, j0 + rows), from a bias or a mask: tile [rows][kGroupLanes]. read(i)
// is the view's element i.
template <class Read>
void gather_scores(const ScoreView& view, const Sequence& s, const QueryLanes& lanes, int64_t group, int64_t j0,
                   int64_t rows, const Read& read, float* tile) {
  for (int v = 0; v < kVectors; ++v)
    for (int64_t j = 0; j < rows; j += kLanes) {
      const int64_t n = std::min<int64_t>(kLanes, rows - j);
      alignas(64) float block[kLanes][kLanes] = {};  // [lane][key]
      for (int lane = 0; lane < kLanes; ++lane) {
        const int64_t at = group * kGroupLanes + v * kLanes + lane;
        const int64_t from = score_offset(view, s, lanes.query[at], lanes.head[at]) + (j0 + j) * view.key;
        for (int64_t x = 0; x < n; ++x) block[lane][x] = read(from + x * view.key);
      }
      F r[kLanes];
      for (int i = 0; i < kLanes; ++i) r[i] = load(block[i]);
      transpose(r);
      for (int64_t x = 0; x < n; ++x) store(tile + (j + x) * kGroupLanes + v * kLanes, r[x]);
    }
}

// Slope and diagonal of each lane for ALiBi.
struct Alibi {
  alignas(64) float slope[kMostQueries];
  alignas(64) float center[kMostQueries];

  void set(const Call& call, const Sequence& s, const QueryLanes& lanes) {
    if (!call.alibi) return;
    const float* slopes = reinterpret_cast<const float*>(call.alibi.data) + s.index * call.alibi.batch;
    for (int64_t i = 0; i < lanes.groups * kGroupLanes; ++i) {
      slope[i] = slopes[lanes.head[i] * call.alibi.head];
      center[i] = static_cast<float>(lanes.query[i] + s.diagonal);
    }
  }
};

// Caps scaled products.
inline void cap_logits(const Call& call, float* s, int64_t count) {
  if (call.softcap == 0) return;
  const float cap = static_cast<float>(call.softcap);
  for (int64_t i = 0; i < count; i += kLanes) store(s + i, splat(cap) * tanh(load(s + i) * splat(1 / cap)));
}

// The slope of tanh, 4 e / (1 + e)^2 with e = exp(-2|x|). 1 - tanh^2 would lose small slopes, and far above the cap
// there may be no other.
RAPT_INLINE F tanh_slope(F x) {
  const F e = exp2_subnormal(float_of(bits_of(x) & 0x7FFFFFFF) * splat(-2 * kLog2e)), one_more = splat(1.f) + e;
  return splat(4.f) * e / (one_more * one_more);
}

// For the gradient of softcap: its slopes at the strip s [rows][row] of products.
inline void keep_slopes(const Call& call, const float* s, int64_t row, int64_t rows, float* slopes) {
  if (call.softcap == 0) return;
  const float factor = static_cast<float>(call.scale) / static_cast<float>(call.softcap);
  for (int64_t r = 0; r < rows; ++r)
    for (int i = 0; i < kVectors; ++i)
      store(slopes + r * kGroupLanes + i * kLanes, tanh_slope(load(s + r * row + i * kLanes) * splat(factor)));
}

// Turns the gradient of capped logits into the gradient of the logits, with keep_slopes' result.
inline void cap_gradient(const Call& call, const float* slopes, float* ds, int64_t row, int64_t rows) {
  if (call.softcap == 0) return;
  for (int64_t r = 0; r < rows; ++r)
    for (int i = 0; i < kVectors; ++i) {
      const F slope = load(slopes + r * kGroupLanes + i * kLanes), x = load(ds + r * row + i * kLanes);
      store(ds + r * row + i * kLanes, x == F{} ? x : x * slope);
    }
}

// The strip [rows][row] holds products; keys are j0, j0 + 1, ... Turns them into logits in place, -inf where the mask
// excludes, even if K is Inf or NaN there. scratch: [rows][kGroupLanes].
inline void apply_score_options(const Call& call, const Sequence& s, const QueryLanes& lanes, const Alibi& alibi,
                                int64_t group, int64_t j0, int64_t rows, float* scratch, float* strip, int64_t row) {
  const F scale = splat(static_cast<float>(call.scale));
  const F cap = splat(static_cast<float>(call.softcap)), per_cap = splat(1 / static_cast<float>(call.softcap));
  if (call.bias)
    gather_scores(
        call.bias, s, lanes, group, j0, rows,
        [data = call.bias.data, type = call.bias.dtype](int64_t i) { return read_float(data, type, i); }, scratch);
  for (int64_t j = 0; j < rows; ++j)
    for (int v = 0; v < kVectors; ++v) {
      const int64_t lane = group * kGroupLanes + v * kLanes;
      F x = load(strip + j * row + v * kLanes) * scale;
      if (call.softcap != 0) x = cap * tanh(x * per_cap);
      if (call.bias) x = x + load(scratch + j * kGroupLanes + v * kLanes);
      if (call.alibi) {
        const F distance = load(alibi.center + lane) - splat(static_cast<float>(j0 + j));
        x = x - load(alibi.slope + lane) * float_of(bits_of(distance) & 0x7FFFFFFF);
      }
      store(strip + j * row + v * kLanes, x);
    }
  if (!call.mask) return;
  const auto excludes = [data = call.mask.data](int64_t i) { return data[i] == 0 ? -INFINITY : 0.f; };
  gather_scores(call.mask, s, lanes, group, j0, rows, excludes, scratch);
  for (int64_t j = 0; j < rows; ++j)
    for (int v = 0; v < kVectors; ++v) {
      float* x = strip + j * row + v * kLanes;
      const F of_mask = load(scratch + j * kGroupLanes + v * kLanes);
      store(x, of_mask == F{} ? load(x) : of_mask);
    }
}

// Excludes what causality and window do not allow.
inline void apply_edges(const QueryLanes& lanes, int64_t group, int64_t j0, int64_t rows, float* s, int64_t row) {
  for (int v = 0; v < kVectors; ++v) {
    const I begin = load_int(lanes.key_begin + group * kGroupLanes + v * kLanes);
    const I end = load_int(lanes.key_end + group * kGroupLanes + v * kLanes);
    for (int64_t j = 0; j < rows; ++j) {
      const I key = I{} + static_cast<int32_t>(j0 + j);
      const F x = load(s + j * row + v * kLanes);
      store(s + j * row + v * kLanes, ((key >= begin) & (key < end)) ? x : splat(-INFINITY));
    }
  }
}

// The factor of the probabilities that dropout keeps.
inline float dropout_scale(const Call& call) { return static_cast<float>(1 / (1 - call.dropout)); }

// `kept` for each of keys [j0, j0 + rows) that dropout keeps, otherwise 0: tile [rows][kGroupLanes].
inline void dropout_factors(const Call& call, const Sequence& s, const QueryLanes& lanes, int64_t group, int64_t j0,
                            int64_t rows, float kept, float* tile) {
  const uint32_t threshold = rapt_keep_threshold(call.dropout);
  for (int64_t quad = j0 / 4; quad * 4 < j0 + rows; ++quad) {
    alignas(64) uint32_t low[kGroupLanes], high[kGroupLanes];  // fields of columns 0, 1 and 2, 3 of each lane's row
    for (int lane = 0; lane < kGroupLanes; ++lane) {
      const int64_t at = group * kGroupLanes + lane;
      const uint32_t q = static_cast<uint32_t>(lanes.query[at]);
      const uint32_t stream = static_cast<uint32_t>(s.index * call.heads_q + lanes.head[at]);
      const rapt_philox_bits bits = rapt_philox(call.dropout_seed, static_cast<uint32_t>(quad), q / 2, stream,
                                                static_cast<uint32_t>(call.dropout_offset));
      low[lane] = q % 2 ? bits.word[2] : bits.word[0];
      high[lane] = q % 2 ? bits.word[3] : bits.word[1];
    }
    for (int64_t column = 0; column < 4; ++column) {
      const int64_t j = quad * 4 + column - j0;
      if (j < 0 || j >= rows) continue;
      const uint32_t* word = column < 2 ? low : high;
      const uint32_t shift = 16 * (column % 2);
      for (int lane = 0; lane < kGroupLanes; ++lane)
        tile[j * kGroupLanes + lane] = ((word[lane] >> shift) & 0xFFFFu) < threshold ? kept : 0.f;
    }
  }
}

}  // namespace rapt::cpu::RAPT_TIER
