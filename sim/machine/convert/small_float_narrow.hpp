// Rounding to formats of 4 to 16 bits.
#pragma once

#include "sim/machine/convert/small_float.hpp"

#include <algorithm>

namespace rapt::sim {

struct Narrowing {
  bool stochastic = false;
  std::uint32_t random = 0;  // stochastic: its highest bits are added before bits are cut off
  bool saturate = false;     // MODE.FP16_OVFL: overflow and infinity give the largest number
  int scale = 0;             // the value is divided by 2^scale first
};

// The f32 with these bits, converted to the format. Overflow gives infinity, or NaN if there is none; in formats
// without NaN, overflow and NaN give the largest number. Source: CDNA4 document, "BF8 / FP8 and Smaller Formats and
// Conversions". ROCm's host code for fp8 says two things more: a carry of the random bits goes into the exponent, and
// they are aligned to the last bit that a denormal keeps. The document's pseudocode lets the mantissa wrap.
inline std::uint32_t narrow(const SmallFloat& format, std::uint32_t bits, Narrowing how) {
  const std::uint32_t magnitude = bits & 0x7fffffff;
  const std::uint32_t sign = (bits >> 31) << (format.bits - 1);
  const auto with_sign = [&](std::uint32_t v) {
    return format.specials == Specials::fnuz && (v == 0 || v == format.nan()) ? v : v | sign;
  };
  const auto overflow = [&] {
    if (how.saturate || format.specials == Specials::none) return with_sign(format.largest());
    return with_sign(format.specials == Specials::ieee ? format.infinity() : format.nan());
  };
  if (magnitude > 0x7f800000) {
    if (format.specials == Specials::none) return with_sign(format.largest());
    return with_sign(format.specials == Specials::ieee && format.bits == 8 ? format.magnitude_mask() : format.nan());
  }
  if (magnitude == 0x7f800000) return overflow();
  if (magnitude == 0) return with_sign(0);

  const unsigned cut = 23 - format.mantissa;  // bits of a normal number's mantissa
  const int field = static_cast<int>(magnitude >> 23);
  std::uint32_t mantissa = (magnitude & 0x7fffff) | (field != 0 ? 0x800000 : 0);
  int exponent = std::max(field, 1) - 127;
  while (mantissa < 0x800000) mantissa <<= 1, --exponent;  // a denormal f32
  exponent -= how.scale;
  const int below = std::clamp(format.smallest_exponent() - exponent, 0, 31);
  std::uint32_t kept;
  if (how.stochastic) {
    kept = ((mantissa >> below) + (how.random >> (32 - cut))) >> cut;
  } else {
    const auto all = std::uint64_t{mantissa} << 32;
    const unsigned shift = std::min(32 + cut + static_cast<unsigned>(below), 60U);  // past it the result is zero anyway
    const std::uint64_t half = std::uint64_t{1} << (shift - 1), rest = all & ((half << 1) - 1);
    kept = static_cast<std::uint32_t>(all >> shift);
    kept += rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0;
  }
  const int code = (std::max(exponent, format.smallest_exponent()) + format.bias - 1) << format.mantissa;
  const std::uint32_t result = static_cast<std::uint32_t>(code) + kept;
  if (exponent > 300 || result > format.largest()) return overflow();
  return with_sign(result);
}

// V_PRNG_B32: the next random number.
constexpr std::uint32_t next_random(std::uint32_t v) { return v << 1 ^ ((v >> 31) != 0 ? 197U : 0U); }

}  // namespace rapt::sim
