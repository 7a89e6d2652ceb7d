// The element types: their storage, and conversion from and to float32.
#pragma once

#include "kernels/amd/isa/device.hpp"

namespace rapt::amd {

DEVICE uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }

struct fp16 {
  using element = _Float16;
  static constexpr uint32_t infinity = 0x7c00;  // its bits
  // P is scaled by 2^7, away from the denormals, which gfx90a's matrix unit flushes. Lazy rescaling lets it grow by
  // another 2^8, and 2^15 is within fp16's range.
  static constexpr float p_exponent = 7;
  DEVICE float to_float(element x) { return x; }
  DEVICE element round(float x) { return static_cast<element>(x); }
  DEVICE uint32_t pack_p(float a, float b) {  // to nearest
    const vec<_Float16, 2> pair = {static_cast<_Float16>(a), static_cast<_Float16>(b)};
    return __builtin_bit_cast(uint32_t, pair);
  }
};

struct bf16 {
  using element = __bf16;
  static constexpr uint32_t infinity = 0x7f80;
  static constexpr float p_exponent = 0;
  DEVICE float to_float(element x) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(__builtin_bit_cast(uint16_t, x)) << 16);
  }
  DEVICE element round(float x) { return static_cast<element>(x); }
  // Rounds P to nearest, ties away from 0. Adding 0x8000 suffices: P is not negative and far from overflow, and exp2's
  // quiet NaN has no low bits, so it stays a NaN.
  DEVICE uint32_t pack_p(float a, float b) {
#ifdef __gfx950__
    const vec<__bf16, 2> pair = {static_cast<__bf16>(a), static_cast<__bf16>(b)};
    return __builtin_bit_cast(uint32_t, pair);  // one instruction
#else
    return __builtin_amdgcn_perm(bits(b) + 0x8000u, bits(a) + 0x8000u, 0x07060302u);
#endif
  }
};

struct fp32 {
  using element = float;
  static constexpr float p_exponent = 0;
  DEVICE float to_float(element x) { return x; }
  DEVICE element round(float x) { return x; }
};

}  // namespace rapt::amd
