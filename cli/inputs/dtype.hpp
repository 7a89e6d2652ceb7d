// Element types: names, sizes, and conversions that need no compiler support for half precision.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "rapt/rapt.hpp"

namespace rapt::cli {

constexpr bool same(rapt_dtype a, rapt_dtype b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }
constexpr int64_t bytes_of(rapt_dtype dtype) { return dtype.bits / 8; }
std::string dtype_name(rapt_dtype dtype);
double largest_finite(rapt_dtype dtype);

inline uint16_t fp16_from(double value) {  // one rounding, to nearest even
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 48 & 0x8000);
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  // Adding and subtracting 2^52 units of the last place rounds; below 2^-14 that unit stays 2^-24.
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const double unit = std::ldexp(1.0, exponent - 10);
  const auto quotient = static_cast<uint32_t>(std::nearbyint(magnitude / unit));  // 10-bit mantissa and hidden bit
  return static_cast<uint16_t>(sign | (static_cast<uint32_t>(exponent + 14) * 1024 + quotient));
}

inline double fp16_to(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double magnitude;
  if (exponent == 31) magnitude = mantissa ? NAN : INFINITY;
  else if (exponent == 0) magnitude = std::ldexp(mantissa, -24);
  else magnitude = std::ldexp(1024 + mantissa, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

inline uint16_t bf16_from(double value) {
  const float narrow = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(narrow);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  const bool tie_was_rounded = (bits & 0xffff) == 0x8000 && static_cast<double>(narrow) != value;
  if (tie_was_rounded) bits += std::fabs(static_cast<double>(narrow)) < std::fabs(value) ? 1 : -1;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline double bf16_to(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace rapt::cli
