// What only general kernels do to logits and probabilities: any scale, softcap, bias, ALiBi, a boolean mask, dropout. In
// the order of docs/naming.md; logits become multiples of log2(e).
#pragma once

#include "kernels/amd/mask.hpp"
#include "kernels/common/philox.h"

namespace rapt::amd {

// tanh to about 2 ulp: a polynomial near 0, where 1 - 2 / (e^2x + 1) would cancel (Taylor's series to x^13, whose next
// term is below 2^-25 of x for |x| < 0.4).
DEVICE float tanh(float x) {
  const float size = __builtin_fabsf(x), square = x * x;
  float series = -0.0088632355f * square + 0.0218694885f;
  series = -0.0539682540f + square * series;
  series = 0.1333333333f + square * series;
  series = -0.3333333333f + square * series;
  const float near = x + x * square * series;
  const float power = exp2(2 * kLog2e * size);  // infinite from 64 on: then the result is 1
  const float far = 1 - 2 * reciprocal(power + 1);
  return size < 0.4f ? near : __builtin_copysignf(far, x);
}

DEVICE float load_as_float(const char* p, int dtype) {
  if (dtype == RAPT_ABI_FP32) return load_unaligned<float, 4>(p);
  if (dtype == RAPT_ABI_FP16) return fp16::to_float(load_unaligned<_Float16, 2>(p));
  return bf16::to_float(load_unaligned<__bf16, 2>(p));
}

// One query's place in its row of scores.
struct Query {
  int row, begin, end;  // the keys it attends by causality, window and length; none where the row does not exist
};

// The tile's keys are first_key + M::element(r, half). Excluded ones are set to kMasked, and nothing of theirs is read.
template <class M>
DEVICE void transform_logits(const Arguments& a, const Block& b, const Query& query, int first_key, int half, Tile& s) {
  const char* const bias = a.bias.data == nullptr
                               ? nullptr
                               : static_cast<const char*>(a.bias.data) + b.batch * a.bias.batch +
                                     b.head * a.bias.head + query.row * a.bias.query;
  const char* const mask = a.mask.data == nullptr
                               ? nullptr
                               : static_cast<const char*>(a.mask.data) + b.batch * a.mask.batch +
                                     b.head * a.mask.head + query.row * a.mask.query;
  const float slope =
      a.alibi.data == nullptr
          ? 0
          : *reinterpret_cast<const float*>(reinterpret_cast<const char*>(a.alibi.data) + b.batch * a.alibi.batch +
                                            b.head * a.alibi.head);
  const float cap = a.softcap, inverse_cap = cap > 0 ? 1 / cap : 0;
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    const int key = first_key + M::element(r, half);
    const bool inside = key >= query.begin && key < query.end;
    float x = s[r] * a.scale;
    if (cap > 0) x = cap * tanh(x * inverse_cap);
    bool kept = inside;
    if (inside) {
      if (bias != nullptr) x += load_as_float(bias + key * a.bias.key, a.bias_dtype);
      if (mask != nullptr) kept = mask[key * a.mask.key] != 0;
    }
    x -= slope * static_cast<float>(__builtin_abs(query.row + b.diagonal - key));
    s[r] = kept ? x * kLog2e : kMasked;
  }
}

// Zeroes the probabilities that dropout drops; those kept are scaled with the whole row at the end.
template <class M>
DEVICE void drop(const Arguments& a, const Block& b, const Query& query, int first_key, int half, Tile& p) {
  const uint32_t row = static_cast<uint32_t>(query.row), head = static_cast<uint32_t>(b.batch * a.heads_q + b.head);
#pragma unroll
  for (int r = 0; r < kRegisters; r += 4) {
    const uint32_t key = static_cast<uint32_t>(first_key + M::element(r, half));  // a multiple of 4
    const rapt_philox_bits bits = rapt_philox(a.dropout_seed, key / 4, row / 2, head, a.dropout_offset);
    // The two words of this row's parity: what rapt_philox_field picks, without an index that is no constant.
    const uint32_t word[2] = {row % 2 ? bits.word[2] : bits.word[0], row % 2 ? bits.word[3] : bits.word[1]};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      p[r + i] = (word[i / 2] >> (16 * (i % 2)) & 0xFFFFu) < a.keep_threshold ? p[r + i] : 0;
  }
}

}  // namespace rapt::amd
