// Floating-point formats of 4 to 16 bits and their exact widening to f32.
//
// OCP's fp8 (E4M3), bf8 (E5M2), fp6 (E2M3), bf6 (E3M2), fp4 (E2M1): see "Small Float Data Formats" in the CDNA4 and
// RDNA4 documents. The variants of fp8 and bf8 on gfx942 are FNUZ: the bias is greater by one, and minus zero's bits
// are the only NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace rapt::sim {

enum class Specials : std::uint8_t {
  ieee,     // the largest exponent: infinity and NaNs
  one_nan,  // all bits but the sign: NaN; no infinity
  fnuz,     // only the sign: NaN; no infinity, no minus zero
  none,
};

struct SmallFloat {
  unsigned bits, mantissa;
  int bias;
  Specials specials;
  constexpr std::uint32_t sign() const { return 1U << (bits - 1); }
  constexpr std::uint32_t magnitude_mask() const { return sign() - 1; }
  constexpr std::uint32_t infinity() const { return magnitude_mask() >> mantissa << mantissa; }
  constexpr std::uint32_t nan() const {
    if (specials == Specials::fnuz) return sign();
    return specials == Specials::ieee ? infinity() | 1U << (mantissa - 1) : magnitude_mask();
  }
  constexpr std::uint32_t largest() const {  // finite
    if (specials == Specials::ieee) return infinity() - 1;
    return specials == Specials::one_nan ? magnitude_mask() - 1 : magnitude_mask();
  }
  constexpr int smallest_exponent() const { return 1 - bias; }
  friend constexpr bool operator==(const SmallFloat&, const SmallFloat&) = default;
};

inline constexpr SmallFloat f16_format{16, 10, 15, Specials::ieee}, bf16_format{16, 7, 127, Specials::ieee};
inline constexpr SmallFloat fp8_format{8, 3, 7, Specials::one_nan}, bf8_format{8, 2, 15, Specials::ieee};
inline constexpr SmallFloat fp8_fnuz_format{8, 3, 8, Specials::fnuz}, bf8_fnuz_format{8, 2, 16, Specials::fnuz};
inline constexpr SmallFloat fp6_format{6, 3, 1, Specials::none}, bf6_format{6, 2, 3, Specials::none};
inline constexpr SmallFloat fp4_format{4, 1, 1, Specials::none};

// The bits of the same value as f32; a NaN becomes a quiet one. Branch-free: loops over it are vectorised.
template <SmallFloat format>
inline std::uint32_t widen_bits(std::uint32_t v) {
  const std::uint32_t sign = (v & format.sign()) << (32 - format.bits), magnitude = v & format.magnitude_mask();
  if constexpr (format == bf16_format) return v << 16;
  // As an f32 with the wrong bias, denormal if the small one is; a multiplication corrects both.
  constexpr float rebias = std::bit_cast<float>(static_cast<std::uint32_t>(254 - format.bias) << 23);
  const float scaled = std::bit_cast<float>(magnitude << (23 - format.mantissa)) * rebias;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(scaled);
  if constexpr (format.specials == Specials::ieee)
    bits = magnitude >= format.infinity()
               ? 0x7f800000 | magnitude << (23 - format.mantissa) | (magnitude > format.infinity() ? 0x400000U : 0U)
               : bits;
  if constexpr (format.specials == Specials::one_nan) bits = magnitude == format.nan() ? 0x7fc00000 : bits;
  if constexpr (format.specials == Specials::fnuz) return v == format.nan() ? 0x7fc00000 : bits | sign;
  return bits | sign;
}

template <SmallFloat format>
inline float widen(std::uint32_t v) {
  return std::bit_cast<float>(widen_bits<format>(v));
}

}  // namespace rapt::sim
