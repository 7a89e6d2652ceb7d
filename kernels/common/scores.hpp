// What only general kernels do to logits and probabilities: any scale, softcap, bias, ALiBi, a boolean mask, dropout,
// in the order of docs/naming.md. Logits are not in the log2 domain.
#pragma once

#include "kernels/common/logits.hpp"
#include "kernels/common/philox.h"

namespace rapt::RAPT_VENDOR {

// tanh to about 2 ulp. Near 0, where 1 - 2 / (e^2x + 1) would cancel, the Taylor series to x^13, whose next term is
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

// The sink's logit, in the unit of the kernel's logits.
template <bool General>
DEVICE float sink_of(Arguments& a, const Block& b) {
  if (a.problem.sink.data == nullptr) return kMasked;
  const float sink =
      load_as_float(static_cast<const char*>(a.problem.sink.data) + b.head * a.problem.sink.head, a.problem.sink_dtype);
  return General ? sink : kLog2e * sink;
}

DEVICE void store_lse(Arguments& a, const Block& b, int row, float lse) {
  if (a.lse.data == nullptr) return;
  char* const head = reinterpret_cast<char*>(a.lse.data) + b.batch * a.lse.batch + b.head * a.lse.head;
  *reinterpret_cast<float*>(head + (b.q.first + row) * a.lse.query) = lse;
}

// This query's row of a bias or mask, which must be given.
template <class Scores>
DEVICE const char* row_of(const Scores& scores, const Block& b, int row) {
  return static_cast<const char*>(scores.data) + b.batch * scores.batch + b.head * scores.head + row * scores.query;
}

// The logits are of keys from first_key on. Those of excluded keys become kMasked; their bias and mask are not read.
template <class Logits>
DEVICE void transform_logits(Arguments& a, const Block& b, const Query& query, int first_key, const Logits& s) {
  s.scale(a.problem.scale);
  if (a.problem.softcap > 0) {
    const float inverse = 1 / a.problem.softcap;
#pragma unroll
    for (int i = 0; i < Logits::count; ++i) s.set(i, a.problem.softcap * tanh(s.get(i) * inverse));
  }
  if (a.problem.alibi.data != nullptr) {
    const char* const slopes = reinterpret_cast<const char*>(a.problem.alibi.data);
    const float slope =
        *reinterpret_cast<const float*>(slopes + b.batch * a.problem.alibi.batch + b.head * a.problem.alibi.head);
    const int distance = first_key + s.first_key() - query.row - b.diagonal;
#pragma unroll
    for (int i = 0; i < Logits::count; ++i)
      s.set(i, s.get(i) - slope * static_cast<float>(__builtin_abs(distance + Logits::step(i))));
  }
  // For an excluded key, an attended key's element is read instead.
  const bool any = query.begin < query.end;
  const auto key_at = [&](int i) { return clamp(first_key + s.key(i), query.begin, query.end - 1); };
  if (a.problem.bias.data != nullptr && any) {
    const char* const bias = row_of(a.problem.bias, b, query.row);
#pragma unroll
    for (int i = 0; i < Logits::count; ++i)
      s.set(i, s.get(i) + load_as_float(bias + key_at(i) * a.problem.bias.key, a.problem.bias_dtype));
  }
  if (a.problem.mask.data != nullptr && any) {
    const char* const mask = row_of(a.problem.mask, b, query.row);
#pragma unroll
    for (int i = 0; i < Logits::count; ++i) s.set(i, mask[key_at(i) * a.problem.mask.key] != 0 ? s.get(i) : kMasked);
  }
  exclude(s, query.begin - first_key, query.end - first_key);
}

// Zeroes the probabilities that dropout drops. The scale of those kept is applied to the whole row at the end.
template <class Logits>
DEVICE void drop(Arguments& a, const Block& b, const Query& query, int first_key, const Logits& p) {
  const uint32_t row = static_cast<uint32_t>(query.row),
                 head = static_cast<uint32_t>(b.batch * a.problem.heads_q + b.head);
#pragma unroll
  for (int first = 0; first < Logits::count; first += Logits::group) {
    const uint32_t key = static_cast<uint32_t>(first_key + p.key(first));
    const rapt_philox_bits bits = rapt_philox(a.problem.dropout_seed, key / 4, row / 2, head, a.problem.dropout_offset);
#pragma unroll
    for (int i = 0; i < Logits::group; ++i) {
      const uint32_t col = Logits::group % 4 == 0 ? static_cast<uint32_t>(i) : key + static_cast<uint32_t>(i);
      if (rapt_philox_field(bits, row, col) >= a.problem.keep_threshold) p.set(first + i, 0);
    }
  }
}

}  // namespace rapt::RAPT_VENDOR
