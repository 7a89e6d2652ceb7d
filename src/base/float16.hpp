// The two 16-bit floating types as bits, with exact conversions in portable integer code: no compiler's _Float16 is
// needed (g++ 12 has none in C++ for aarch64). Branch-free where it matters, so that loops over rows vectorise.
#pragma once

#include <bit>
#include <cstdint>

namespace rapt {

// IEEE 754 binary16. From float it rounds to nearest even; beyond 65519.99... it becomes infinite; NaN stays NaN.
struct Fp16 {
  uint16_t bits = 0;

  constexpr Fp16() = default;
  constexpr explicit Fp16(float value) : bits(from(value)) {}
  static constexpr Fp16 of_bits(uint16_t bits) {
    Fp16 value;
    value.bits = bits;
    return value;
  }

  constexpr explicit operator float() const {
    const uint32_t magnitude = bits & 0x7FFFu, shifted = magnitude << 13;
    // Masks rather than ?: keep the subtraction unconditional, which lets compilers vectorise it.
    const uint32_t subnormal = 0u - static_cast<uint32_t>(magnitude < 0x0400u);
    const uint32_t special = 0u - static_cast<uint32_t>(magnitude >= 0x7C00u);
    const uint32_t normal = shifted + (112u << 23) + (special & (112u << 23));
    // A subnormal m * 2^-24 is the float (1 + m / 1024) * 2^-14 minus 2^-14: exact, and without subnormal floats.
    const float above = std::bit_cast<float>((shifted & 0x7FFFFFu) | (113u << 23));
    const uint32_t small = std::bit_cast<uint32_t>(above - 0x1p-14f);
    const uint32_t value = (small & subnormal) | (normal & ~subnormal);
    return std::bit_cast<float>(value | static_cast<uint32_t>(bits & 0x8000u) << 16);
  }

 private:
  static constexpr uint16_t from(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value), magnitude = all & 0x7FFFFFFFu;
    const uint32_t normal = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
    // In [0.5, 1) a float's ulp is 2^-24, that of an fp16 subnormal, so the addition rounds.
    const float small = std::bit_cast<float>(magnitude < 0x38800000u ? magnitude : 0u);
    const uint32_t subnormal = std::bit_cast<uint32_t>(small + 0.5f) - 0x3F000000u;
    const uint32_t nan = 0x7E00u | ((magnitude >> 13) & 0x3FFu);
    const uint32_t result = magnitude < 0x38800000u    ? subnormal
                            : magnitude < 0x477FF000u  ? normal
                            : magnitude <= 0x7F800000u ? 0x7C00u
                                                       : nan;
    return static_cast<uint16_t>(result | ((all >> 16) & 0x8000u));
  }
};

// bfloat16: the upper half of a float. From float it rounds to nearest even; NaN stays NaN.
struct Bf16 {
  uint16_t bits = 0;

  constexpr Bf16() = default;
  constexpr explicit Bf16(float value) : bits(from(value)) {}
  static constexpr Bf16 of_bits(uint16_t bits) {
    Bf16 value;
    value.bits = bits;
    return value;
  }

  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

 private:
  static constexpr uint16_t from(float value) {
    const uint32_t all = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (all + 0x7FFFu + ((all >> 16) & 1u)) >> 16;
    return static_cast<uint16_t>((all & 0x7FFFFFFFu) > 0x7F800000u ? (all >> 16) | 0x40u : rounded);
  }
};

static_assert(sizeof(Fp16) == 2 && sizeof(Bf16) == 2);

}  // namespace rapt
