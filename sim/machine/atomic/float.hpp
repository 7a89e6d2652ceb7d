// Floating-point operations of the atomic units of memory and LDS (CDNA ISA documents, "Float Memory Atomics"). They
// round to nearest even, whatever the wave's mode is.
#pragma once

#include "sim/machine/operands/types.hpp"

namespace rapt::sim {

// The denormals that an operation treats as zeros.
struct FloatRules {
  bool flush_inputs = false, flush_result = false;
  bool quiet_wins = false;  // min and max: a signalling NaN is the result, made quiet (before gfx12's min_num, max_num)
};

namespace atomic_float {

using valu::FloatFormat;

template <const FloatFormat& F>
inline std::uint64_t flushed(std::uint64_t v, bool flush) {
  return flush && F.is_denormal(v) ? v & F.sign() : v;
}

template <const FloatFormat& F>
inline std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  if constexpr (F.bits == 64) {
    return std::bit_cast<std::uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  } else {
    const auto as_float = [](std::uint64_t v) {
      const auto bits = static_cast<std::uint32_t>(v);
      if (F.bits == 32) return std::bit_cast<float>(bits);
      return F.mantissa == 10 ? valu::half_to_float(bits) : valu::bf16_to_float(bits);
    };
    // For the 16-bit types, rounding to float cannot give a midpoint for the second rounding.
    const float result = as_float(a) + as_float(b);
    if (F.bits == 32) return std::bit_cast<std::uint32_t>(result);
    return F.mantissa == 10 ? valu::float_to_half(result, valu::Round::nearest)
                            : valu::float_to_bf16(result, valu::Round::nearest);
  }
}

// A NaN is propagated and made quiet; memory's takes precedence over the lane's.
template <const FloatFormat& F>
inline std::uint64_t add(std::uint64_t old, std::uint64_t data, FloatRules rules) {
  if (F.is_nan(old)) return old | F.quiet();
  if (F.is_nan(data)) return data | F.quiet();
  const std::uint64_t result = sum<F>(flushed<F>(old, rules.flush_inputs), flushed<F>(data, rules.flush_inputs));
  return F.is_nan(result) ? F.default_nan() : flushed<F>(result, rules.flush_result);
}

// Flushing concerns only the comparison. -0 is less than +0; a number wins over a quiet NaN.
template <const FloatFormat& F, bool Max>
inline std::uint64_t extreme(std::uint64_t old, std::uint64_t data, FloatRules rules) {
  if (rules.quiet_wins && F.is_signalling(old)) return old | F.quiet();
  if (rules.quiet_wins && F.is_signalling(data)) return data | F.quiet();
  if (F.is_nan(data)) return F.is_nan(old) ? data | F.quiet() : old;
  if (F.is_nan(old)) return data;
  const auto order = [&rules](std::uint64_t v) {
    v = flushed<F>(v, rules.flush_inputs);
    return v & F.sign() ? ~v & (F.sign() - 1) : v | F.sign();
  };
  return (Max ? order(data) > order(old) : order(data) < order(old)) ? data : old;
}

template <const FloatFormat& F>
inline bool equal(std::uint64_t a, std::uint64_t b, FloatRules rules) {
  a = flushed<F>(a, rules.flush_inputs), b = flushed<F>(b, rules.flush_inputs);
  return !F.is_nan(a) && !F.is_nan(b) && (a == b || ((a | b) & (F.sign() - 1)) == 0);
}

}  // namespace atomic_float
}  // namespace rapt::sim
