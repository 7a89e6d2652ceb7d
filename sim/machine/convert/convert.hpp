// Conversions that several VALU operations share.
#pragma once

#include "sim/machine/operands/valu.hpp"

namespace rapt::sim::valu {

// Truncated and saturated; a NaN gives 0. F's precision may be less than To's, so the bounds are powers of two.
template <class To, class F>
To to_integer(F x) {
  constexpr int digits = std::numeric_limits<To>::digits;
  constexpr F high = static_cast<F>(std::uint64_t{1} << (digits - 1)) * 2;  // the first that is too large
  constexpr F low = std::is_signed_v<To> ? -high : F{0};
  const F inside = x > low ? (x < high ? x : F{0}) : F{0};
  using Wide = std::conditional_t<(sizeof(To) < 4), std::int32_t, To>;
  To result = static_cast<To>(static_cast<Wide>(inside));
  result = x >= high ? std::numeric_limits<To>::max() : result;
  return x <= low ? std::numeric_limits<To>::min() : result;
}

// Maps [-1, 1] or [0, 1] to the integers' range, rounding to nearest (symmetric: -1 gives -32767). The product is
// exact.
template <class To>
To to_normalised(float x) {
  constexpr double scale = std::numeric_limits<To>::max(), low = std::is_signed_v<To> ? -1 : 0;
  const double inside = x > low ? (x < 1 ? static_cast<double>(x) : 1.0) : low;
  return x != x ? To{0} : static_cast<To>(static_cast<std::int32_t>(round_even(inside * scale)));
}

template <class To, class From>
To saturate(From x) {
  constexpr auto low = static_cast<From>(std::numeric_limits<To>::min());
  constexpr auto high = static_cast<From>(std::numeric_limits<To>::max());
  return static_cast<To>(x < low ? low : x > high ? high : x);
}

// Two halves in a register.
inline std::uint32_t pack(std::uint32_t low, std::uint32_t high) { return (low & 0xffff) | high << 16; }

// To the bits of an f16 or bf16; a NaN becomes quiet.
inline std::uint32_t to_half(float x, Rounding rounding) { return float_to_half(x != x ? quiet(x) : x, rounding); }
inline std::uint32_t to_bf16(float x, Rounding rounding) { return float_to_bf16(x != x ? quiet(x) : x, rounding); }

}  // namespace rapt::sim::valu
