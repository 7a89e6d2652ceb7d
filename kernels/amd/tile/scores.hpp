// What only general kernels do to logits and probabilities: any scale, softcap, bias, ALiBi, a boolean mask, dropout,
// in the order of docs/naming.md. Logits are not in the log2 domain.
#pragma once

#include "kernels/amd/tile/mask.hpp"
#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/common/philox.h"

namespace rapt::amd {

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
  if (dtype == RAPT_ABI_FP16) return fp16::to_float(load_unaligned<_Float16, 2>(p));
  return bf16::to_float(load_unaligned<__bf16, 2>(p));
}

// One query and the keys it attends.
struct Query {
  int row, begin, end;  // begin, end: by causality, window and length; no keys if the row does not exist
};

// This query's row of a bias or mask, which must be given.
template <class Scores>
DEVICE const char* row_of(const Scores& scores, const Block& b, int row) {
  return static_cast<const char*>(scores.data) + b.batch * scores.batch + b.head * scores.head + row * scores.query;
}

// The tile's keys are first_key + M::element(r, half). Logits of excluded keys become kMasked; their bias and mask are
// not read.
template <class M>
DEVICE void transform_logits(Arguments& a, const Block& b, const Query& query, int first_key, int half, Tile& s) {
  s *= a.problem.scale;
  if (a.problem.softcap > 0) {
    const float inverse = 1 / a.problem.softcap;
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) s[r] = a.problem.softcap * tanh(s[r] * inverse);
  }
  if (a.problem.alibi.data != nullptr) {
    const char* const slopes = reinterpret_cast<const char*>(a.problem.alibi.data);
    const float slope =
        *reinterpret_cast<const float*>(slopes + b.batch * a.problem.alibi.batch + b.head * a.problem.alibi.head);
    const int distance = first_key + M::element(0, half) - query.row - b.diagonal;
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) s[r] -= slope * static_cast<float>(__builtin_abs(distance + M::element(r, 0)));
  }
  // For an excluded key, an attended key's element is read instead.
  const bool any = query.begin < query.end;
  const auto key_at = [&](int r) { return clamp(first_key + M::element(r, half), query.begin, query.end - 1); };
  if (a.problem.bias.data != nullptr && any) {
    const char* const bias = row_of(a.problem.bias, b, query.row);
#pragma unroll
    for (int r = 0; r < kRegisters; ++r)
      s[r] += load_as_float(bias + key_at(r) * a.problem.bias.key, a.problem.bias_dtype);
  }
  if (a.problem.mask.data != nullptr && any) {
    const char* const mask = row_of(a.problem.mask, b, query.row);
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) s[r] = mask[key_at(r) * a.problem.mask.key] != 0 ? s[r] : kMasked;
  }
  exclude<M>(s, half, query.begin - first_key, query.end - first_key);
}

// Zeroes the probabilities that dropout drops. The scale of those kept is applied to the whole row at the end.
template <class M>
DEVICE void drop(Arguments& a, const Block& b, const Query& query, int first_key, int half, Tile& p) {
  const uint32_t row = static_cast<uint32_t>(query.row),
                 head = static_cast<uint32_t>(b.batch * a.problem.heads_q + b.head);
#pragma unroll
  for (int r = 0; r < kRegisters; r += 4) {
    const uint32_t key = static_cast<uint32_t>(first_key + M::element(r, half));  // a multiple of 4
    const rapt_philox_bits bits = rapt_philox(a.problem.dropout_seed, key / 4, row / 2, head, a.problem.dropout_offset);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      p[r + i] = rapt_philox_field(bits, row, static_cast<uint32_t>(i)) < a.problem.keep_threshold ? p[r + i] : 0;
  }
}

}  // namespace rapt::amd
