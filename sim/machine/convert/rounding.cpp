// Rounding to integers, fractions, and the parts of floating-point numbers.
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

constexpr auto truncated = [](auto x) { return std::trunc(x); };
constexpr auto ceiling = [](auto x) { return std::ceil(x); };
constexpr auto floored = [](auto x) { return std::floor(x); };
constexpr auto nearest_even = [](auto x) { return round_even(x); };

// x - floor(x), never 1 (RDNA3 ISA: "result clamped to 0x3f7fffff").
template <class T>
T fraction(T x, T below_one) {
  const T result = x - std::floor(x);
  return result > below_one ? below_one : result;
}

// frexp: mantissa in [0.5, 1) and exponent; for zeros, infinities and NaNs the value itself and 0.
template <class T>
struct Parts {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  static constexpr FloatFormat format = sizeof(T) == 8 ? format_f64 : format_f32;
  static constexpr int bias = sizeof(T) == 8 ? 1022 : 126;
  static constexpr int lift = sizeof(T) == 8 ? 64 : 32;  // makes any denormal normal
  static bool special(T x) { return x == 0 || !(std::fabs(x) <= std::numeric_limits<T>::max()); }
  static bool tiny(T x) { return std::fabs(x) < std::numeric_limits<T>::min(); }
  static Bits lifted(T x) {
    return std::bit_cast<Bits>(tiny(x) ? x * static_cast<T>(std::uint64_t{1} << (lift - 1)) * 2 : x);
  }
  static T mantissa(T x) {
    const auto sign = static_cast<Bits>(format.sign()), low = static_cast<Bits>(format.mantissa_mask());
    const auto bits = (lifted(x) & (sign | low)) | static_cast<Bits>(bias) << format.mantissa;
    return special(x) ? x : std::bit_cast<T>(static_cast<Bits>(bits));
  }
  static int exponent(T x) {
    const int field = static_cast<int>((lifted(x) & format.infinity()) >> format.mantissa);
    return special(x) ? 0 : field - bias - (tiny(x) ? lift : 0);
  }
};

// A power of two as a double, for exponents well within its range.
double power(int exponent) { return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52); }
int clamp(int x, int limit) { return x < -limit ? -limit : x > limit ? limit : x; }

}  // namespace

void register_rounding(HandlerTable& t) {
  add<f32(f32)>(t, "v_trunc_f32", truncated);
  add<f32(f32)>(t, "v_ceil_f32", ceiling);
  add<f32(f32)>(t, "v_floor_f32", floored);
  add<f32(f32)>(t, "v_rndne_f32", nearest_even);
  add<f32(f32)>(t, "v_fract_f32", [](float x) { return fraction(x, 0x1.fffffep-1F); });
  add<f64(f64)>(t, "v_trunc_f64", truncated);
  add<f64(f64)>(t, "v_ceil_f64", ceiling);
  add<f64(f64)>(t, "v_floor_f64", floored);
  add<f64(f64)>(t, "v_rndne_f64", nearest_even);
  add<f64(f64)>(t, "v_fract_f64", [](double x) { return fraction(x, 0x1.fffffffffffffp-1); });
  add<f16(f16)>(t, "v_trunc_f16", truncated);
  add<f16(f16)>(t, "v_ceil_f16", ceiling);
  add<f16(f16)>(t, "v_floor_f16", floored);
  add<f16(f16)>(t, "v_rndne_f16", nearest_even);
  add<f16(f16)>(t, "v_fract_f16", [](float x) { return fraction(x, 0x1.ffcp-1F); });

  add<f32(f32)>(t, "v_frexp_mant_f32", [](float x) { return Parts<float>::mantissa(x); });
  add<f64(f64)>(t, "v_frexp_mant_f64", [](double x) { return Parts<double>::mantissa(x); });
  add<f16(f16)>(t, "v_frexp_mant_f16", [](float x) { return Parts<float>::mantissa(x); });
  add<i32(f32)>(t, "v_frexp_exp_i32_f32", [](float x) { return Parts<float>::exponent(x); });
  add<i32(f64)>(t, "v_frexp_exp_i32_f64", [](double x) { return Parts<double>::exponent(x); });
  add<i16(f16)>(t, "v_frexp_exp_i16_f16", [](float x) { return static_cast<std::int16_t>(Parts<float>::exponent(x)); });

  // The exact product in a wider format, so that a denormal result is rounded once.
  add<f32(f32, i32)>(t, "v_ldexp_f32", [](float x, int e) { return static_cast<float>(x * power(clamp(e, 300))); });
  add<f64(f64, i32)>(t, "v_ldexp_f64", [](double x, int e) { return std::ldexp(x, e); });
  add<f16(f16, i16)>(t, "v_ldexp_f16", [](float x, std::int16_t e) { return x * power(clamp(e, 60)); });
}

}  // namespace rapt::sim::valu
