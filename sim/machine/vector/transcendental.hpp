// The transcendental functions in forms that can be vectorised. Each is within 1 ulp of the true value, as the ISA
// documents promise of the hardware; the f32 forms always flush denormals, except for sine and cosine.
#pragma once

#include "sim/machine/vector/arithmetic.hpp"

namespace rapt::sim::valu {

inline constexpr float infinity_f32 = std::numeric_limits<float>::infinity();

// 2^x for -127 <= x < 129: a polynomial on [-1/2, 1/2], and the whole part added to the exponent. Exact for
// integers. Fused on every host, so that results do not depend on the build.
inline float exp2_normal(float x) {
  const float n = std::floor(x + 0.5F), r = x - n;
  float p = 0x1.4485ep-13F;
  p = std::fma(p, r, 0x1.5f4824p-10F);
  p = std::fma(p, r, 0x1.3b29b8p-7F);
  p = std::fma(p, r, 0x1.c6aecep-5F);
  p = std::fma(p, r, 0x1.ebfbep-3F);
  p = std::fma(p, r, 0x1.62e43p-1F);
  p = std::fma(p, r, 1.0F);
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n));
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + (exponent << 23));
}

// 0 below the normal results; a NaN stays.
inline float exp2_flushed(float x) {
  const float inside = x > -127.0F ? (x < 128.0F ? x : 128.0F) : -127.0F;
  float result = exp2_normal(inside);
  result = x < -126.0F ? 0.0F : result;
  result = x >= 128.0F ? infinity_f32 : result;
  return x != x ? x : result;
}

// log2 of a normal positive number: the exponent and 2 atanh((m - 1) / (m + 1)) / ln 2 with m in [sqrt 1/2, sqrt 2).
inline double log2_normal(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), root_half = 0x3f3504f3;
  const std::int32_t e = static_cast<std::int32_t>(bits - root_half) >> 23;
  const double f = static_cast<double>(std::bit_cast<float>(bits - (static_cast<std::uint32_t>(e) << 23))) - 1;
  const double s = f / (2 + f), z = s * s;
  constexpr double c = 2.8853900817779268;  // 2 / ln 2
  const double series = c + z * (c / 3 + z * (c / 5 + z * (c / 7 + z * (c / 9 + z * (c / 11 + z * (c / 13))))));
  return e + s * series;
}

inline float log2_of(float x) {
  float result = static_cast<float>(log2_normal(x));
  result = x == 0 ? -infinity_f32 : result;
  result = x < 0 ? -std::numeric_limits<float>::quiet_NaN() : result;
  result = x == infinity_f32 ? x : result;
  return x != x ? x : result;
}

// sin(2 pi r) for |r| <= 1/4.
inline double sine_quarter(double r) {
  const double y = 6.283185307179586 * r, z = y * y;
  return y +
         y * z *
             (-1.0 / 6 +
              z * (1.0 / 120 +
                   z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800 +
                                                               z * (1.0 / 6227020800 + z * (-1.0 / 1307674368000)))))));
}

// x without whole turns, in [-1/2, 1/2].
inline double part_of_turn(double x) { return x - std::floor(x + 0.5); }

// Sine and cosine of x turns. Infinities give NaN through the subtraction.
inline double sine_turns(float x) {
  const double r = part_of_turn(x);
  const double folded = std::fabs(r) > 0.25 ? std::copysign(0.5, r) - r : r;
  return x == 0 ? static_cast<double>(x) : sine_quarter(folded);
}
inline double cosine_turns(float x) {
  const double r = part_of_turn(x);
  return sine_quarter(0.25 - std::fabs(r));
}

inline double reciprocal_root(float x) { return 1.0 / std::sqrt(static_cast<double>(x)); }

// As lambdas, for the vector forms and gfx12's scalar ones.
inline constexpr auto exp_f32 = [](float x) { return exp2_flushed(x); };
inline constexpr auto log_f32 = [](float x) { return log2_of(flush(x)); };
inline constexpr auto rcp_f32 = [](float x) { return flush(1.0F / flush(x)); };
inline constexpr auto sqrt_f32 = [](float x) { return std::sqrt(flush(x)); };
inline constexpr auto rsq_f32 = [](float x) { return static_cast<float>(reciprocal_root(flush(x))); };
// f16 keeps its denormals; smaller results that are not 0 become 2^-126.
inline constexpr auto exp_f16 = [](float x) { return x < -126.0F && x >= -65504.0F ? 0x1p-126F : exp2_flushed(x); };
inline constexpr auto log_f16 = [](float x) { return log2_of(x); };
inline constexpr auto rcp_f16 = [](float x) { return 1.0F / x; };
inline constexpr auto sqrt_f16 = [](float x) { return std::sqrt(x); };
inline constexpr auto rsq_f16 = [](float x) { return reciprocal_root(x); };

}  // namespace rapt::sim::valu
