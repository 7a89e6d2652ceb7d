// The element types: their storage, and conversion from and to float32.
#pragma once

#include "kernels/nvidia/isa/device.hpp"

namespace rapt::nvidia {

struct fp16 {
  using element = uint16_t;
  using pair = uint32_t;
  // P is scaled by 2^7, away from the denormals, which have fewer bits. Lazy rescaling lets it grow by another 2^8, and
  // 2^15 is within fp16's range.
  static constexpr float p_exponent = 7;
  DEVICE float to_float(element x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
  }
  DEVICE element round(float x) {
    element y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
  }
  DEVICE pair pack(float low, float high) {  // to nearest, even
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

struct bf16 {
  using element = uint16_t;
  using pair = uint32_t;
  static constexpr float p_exponent = 0;
  DEVICE float to_float(element x) { return from_bits(static_cast<uint32_t>(x) << 16); }
  DEVICE element round(float x) {
    element y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
  }
  DEVICE pair pack(float low, float high) {
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
  }
};

struct fp32 {
  using element = float;
  using pair = float2;
  static constexpr float p_exponent = 0;
  DEVICE float to_float(element x) { return x; }
  DEVICE element round(float x) { return x; }
  DEVICE pair pack(float low, float high) { return {low, high}; }
};

}  // namespace rapt::nvidia
