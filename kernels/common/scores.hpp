// The options of general kernels on logits and probabilities: any scale, softcap, bias, ALiBi, a boolean mask, dropout,
// in the order of docs/naming.md. Logits are not in the log2 domain.
#pragma once

#include "kernels/common/logits.hpp"
#include "kernels/common/philox.h"

namespace rapt::RAPT_VENDOR {

// tanh to about 2 ulp. Near 0, where 1 - 2 / (e^2x + 1) would cancel, it is the Taylor series to x^13: the next term is
// below 2^-25 of x for |x| < 0.4.
DEVICE float tanh(float x) {
  const float size = __builtin_fabsf(x), square = x * x;
  float series = -0.0088632355f * square + 0.0218694885f;
  series = -0.0539682540f + square * series;
  series = 0.1333333333f + square * series;
  series = -0.3333333333f + square * series;
  const float near = x + x * square * series;
  const float power = exp2(2 * kLog2e * size);  // infinite for size >= 64: then the result is 1
  const float far = 1 - 2 * reciprocal(power + 1);
  return size < 0.4f ? near : __builtin_copysignf(far, x);
}

DEVICE float load_as_float(const char* p, int dtype) {
  if (dtype == RAPT_ABI_FP32) return load_unaligned<float, 4>(p);
  if (dtype == RAPT_ABI_FP16) return fp16::to_float(load_unaligned<fp16::element, 2>(p));
  return bf16::to_float(load_unaligned<bf16::element, 2>(p));
}

DEVICE void store_float(char* p, int dtype, float x) {
  if (dtype == RAPT_ABI_FP32) *reinterpret_cast<float*>(p) = x;
  else if (dtype == RAPT_ABI_FP16) *reinterpret_cast<fp16::element*>(p) = fp16::round(x);
  else *reinterpret_cast<bf16::element*>(p) = bf16::round(x);
}

// The sink's logit.
DEVICE float sink_of(Problem& p, const Block& b) {
  if (p.sink.data == nullptr) return kMasked;
  return load_as_float(static_cast<const char*>(p.sink.data) + b.head * p.sink.head, p.sink_dtype);
}

template <class Args>
DEVICE void store_lse(Args& a, const Block& b, int row, float lse) {
  if (a.lse.data == nullptr) return;
  char* const head = reinterpret_cast<char*>(a.lse.data) + b.batch * a.lse.batch + b.head * a.lse.head;
  *reinterpret_cast<float*>(head + (b.q.first + row) * a.lse.query) = lse;
}

// This query's row of a bias or mask, which must be given.
template <class Scores>
DEVICE const char* row_of(const Scores& scores, const Block& b, int row) {
  return static_cast<const char*>(scores.data) + b.batch * scores.batch + b.head * scores.head + row * scores.query;
}

// The logits are of keys from first_key on. Logits of excluded keys become kMasked; their bias and mask are not read.
// Where softcap caps, capped(i, x) receives x = tanh(s / softcap): the backward pass needs the slope, 1 - x^2.
template <class Logits, class Capped>
DEVICE void transform_logits(Problem& p, const Block& b, const Query& query, int first_key, const Logits& s,
                             const Capped& capped) {
  s.scale(p.scale);
  if (p.softcap > 0) {
    const float inverse = 1 / p.softcap;
#pragma unroll
    for (int i = 0; i < Logits::count; ++i) {
      const float x = tanh(s.get(i) * inverse);
      capped(i, x);
      s.set(i, p.softcap * x);
    }
  }
  if (p.alibi.data != nullptr) {
    const char* const slopes = reinterpret_cast<const char*>(p.alibi.data);
    const float slope = *reinterpret_cast<const float*>(slopes + b.batch * p.alibi.batch + b.head * p.alibi.head);
    const int distance = first_key + s.first_key() - query.row - b.diagonal;
#pragma unroll
    for (int i = 0; i < Logits::count; ++i)
      s.set(i, s.get(i) - slope * static_cast<float>(__builtin_abs(distance + Logits::step(i))));
  }
  // For an excluded key, an attended key's element is read instead.
  const bool any = query.begin < query.end;
  const auto key_at = [&](int i) { return clamp(first_key + s.key(i), query.begin, query.end - 1); };
  if (p.bias.data != nullptr && any) {
    const char* const bias = row_of(p.bias, b, query.row);
#pragma unroll
    for (int i = 0; i < Logits::count; ++i)
      s.set(i, s.get(i) + load_as_float(bias + key_at(i) * p.bias.key, p.bias_dtype));
  }
  if (p.mask.data != nullptr && any) {
    const char* const mask = row_of(p.mask, b, query.row);
#pragma unroll
    for (int i = 0; i < Logits::count; ++i) s.set(i, mask[key_at(i) * p.mask.key] != 0 ? s.get(i) : kMasked);
  }
  exclude(s, query.begin - first_key, query.end - first_key);
}
template <class Logits>
DEVICE void transform_logits(Problem& p, const Block& b, const Query& query, int first_key, const Logits& s) {
  transform_logits(p, b, query, first_key, s, [](int, float) {});
}

// A number of two halves, or 0.
DEVICE uint64_t load_number(const int32_t* halves) {
#ifdef __CUDACC__
  asm volatile("" : "+l"(halves));  // read for each group of keys: some kernels have no registers to keep it
#endif
  if (halves == nullptr) return 0;
  const auto low = static_cast<uint32_t>(load_uniform(halves)), high = static_cast<uint32_t>(load_uniform(halves + 1));
  return uint64_t{high} << 32 | low;
}

struct DropoutNumbers {
  uint64_t key, offset;  // of Philox
};
DEVICE DropoutNumbers dropout_numbers(Problem& p) {
  const uint64_t offset = p.dropout_offset + load_number(p.dropout_offset_data);
  return {rapt_philox_key(p.dropout_seed + load_number(p.dropout_seed_data), offset), offset};
}

// Zeroes the probabilities that dropout drops, or with `zero_kept` the ones that it keeps. The scale 1 / (1 - p) is
// applied to the whole row at the end.
template <class Logits>
DEVICE void drop(Problem& p, const Block& b, const Query& query, int first_key, const Logits& weights,
                 bool zero_kept = false) {
  // 16 bits are below the threshold exactly where their complement is at least 65536 - threshold.
  const uint32_t flipped = zero_kept ? ~0u : 0, threshold = zero_kept ? 65536 - p.keep_threshold : p.keep_threshold;
  const uint32_t row = static_cast<uint32_t>(query.row), head = static_cast<uint32_t>(b.batch * p.heads_q + b.head);
#ifndef __CUDACC__
  const DropoutNumbers numbers = dropout_numbers(p);
#endif
#pragma unroll
  for (int first = 0; first < Logits::count; first += Logits::group) {
    const uint32_t key = static_cast<uint32_t>(first_key + weights.key(first));
#ifdef __CUDACC__
    const DropoutNumbers numbers = dropout_numbers(p);
#endif
    rapt_philox_bits bits = rapt_philox(numbers.key, key / 4, row / 2, head, static_cast<uint32_t>(numbers.offset));
#pragma unroll
    for (uint32_t& word : bits.word) word ^= flipped;
#pragma unroll
    for (int i = 0; i < Logits::group; ++i) {
      const uint32_t col = Logits::group % 4 == 0 ? static_cast<uint32_t>(i) : key + static_cast<uint32_t>(i);
      if (rapt_philox_field(bits, row, col) >= threshold) weights.set(first + i, 0);
    }
  }
}

}  // namespace rapt::RAPT_VENDOR
