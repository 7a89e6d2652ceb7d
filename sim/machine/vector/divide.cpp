// The steps of an exact division (scale, approximate, refine, scale back, fix up), and of the reduction of large
// angles.
#include "sim/machine/scalar/operands.hpp"
#include "sim/machine/vector/two_over_pi.hpp"
#include "sim/machine/vector/carry.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

template <class T>
struct Limits;
template <>
struct Limits<float> {
  using Bits = std::uint32_t;
  static constexpr FloatFormat format = format_f32;
  static constexpr int scale = 64, near_maximum = 96, least_quotient = -126, tiny_numerator = 23, underflow = -150;
  static constexpr int huge_denominator = 253;  // its reciprocal is denormal
};
template <>
struct Limits<double> {
  using Bits = std::uint64_t;
  static constexpr FloatFormat format = format_f64;
  static constexpr int scale = 128, near_maximum = 768, least_quotient = -1022, tiny_numerator = 53, underflow = -1075;
  static constexpr int huge_denominator = 2045;
};

template <class T>
int exponent(T x) {
  const FloatFormat f = Limits<T>::format;
  return static_cast<int>((std::bit_cast<typename Limits<T>::Bits>(x) & f.infinity()) >> f.mantissa);
}
template <class T>
T power(int e) {
  const FloatFormat f = Limits<T>::format;
  const int bias = (1 << (f.bits - f.mantissa - 2)) - 1;
  return std::bit_cast<T>(static_cast<typename Limits<T>::Bits>(static_cast<std::uint64_t>(bias + e) << f.mantissa));
}
template <class T>
T invalid() {
  return std::bit_cast<T>(static_cast<typename Limits<T>::Bits>(Limits<T>::format.default_nan()));
}

// The ISA documents' V_DIV_SCALE. They leave two points open. A huge denominator is scaled down, and a denormal
// quotient is recognised only by the exponents: so the sequence divides exactly, and agrees with published measurements
// on gfx11. The flag asks v_div_fmas to scale the quotient back.
template <class T>
T div_scale(T s0, T denominator, T numerator, bool& flag) {
  using L = Limits<T>;
  const int n = exponent(numerator), d = exponent(denominator);
  const bool quotient_denormal = n - d <= L::least_quotient, reciprocal_denormal = d >= L::huge_denominator;
  const bool is_denominator = s0 == denominator, is_numerator = s0 == numerator;
  const T up = power<T>(L::scale), down = power<T>(-L::scale);
  flag = false;
  if (numerator == 0 || denominator == 0) return flag = true, invalid<T>();
  if (n - d >= L::near_maximum) return flag = true, is_denominator ? s0 * up : s0;
  if (d == 0) return s0 * up;
  if (reciprocal_denormal && quotient_denormal) return flag = true, is_denominator ? s0 * down : s0;
  if (reciprocal_denormal) return s0 * down;
  if (quotient_denormal) return flag = true, is_numerator ? s0 * up : s0;
  if (n <= L::tiny_numerator) return s0 * up;
  return s0;
}

// Scales a quotient back that div_scale made small or large; the third source, the quotient so far, tells which (the
// documents' factor 2^32 undoes neither). The result is rounded once: if the wide sum is not exact, its last bit is
// made odd.
template <class T>
T div_fmas(T a, T b, T c, bool flag) {
  if (!flag) return std::fma(a, b, c);
  __extension__ using Wide = __float128;
  __extension__ using Bits = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b, addend = c;
  const bool ordered = (addend < 0 ? -addend : addend) >= (product < 0 ? -product : product);
  const Wide larger = ordered ? addend : product, smaller = ordered ? product : addend;
  Wide sum = larger + smaller;
  const Wide rest = smaller - (sum - larger);
  const Bits bits = std::bit_cast<Bits>(sum);
  if ((rest > 0 || rest < 0) && bits % 2 == 0) sum = std::bit_cast<Wide>((rest > 0) == (sum > 0) ? bits + 1 : bits - 1);
  const T factor = power<T>(std::fabs(c) >= 2 ? Limits<T>::scale : -Limits<T>::scale);
  return static_cast<T>(sum * factor);
}

// The smallest magnitude, or 0, as the rounding mode says.
template <class T>
T underflow(const Wave& w, bool negative) {
  const std::uint32_t field = sizeof(T) == 4 ? w.mode & mode::round_f32 : (w.mode & mode::round_f16_f64) >> 2;
  const bool away = static_cast<Round>(field) == (negative ? Round::down : Round::up);
  const T magnitude = away ? std::numeric_limits<T>::denorm_min() : T{0};
  return negative ? -magnitude : magnitude;
}

// The ISA documents' V_DIV_FIXUP. A NaN quotient of operands that are not NaNs is an overflow.
template <class T>
T div_fixup(const Wave& w, T quotient, T denominator, T numerator) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const auto with_sign = [&](T magnitude) { return negative ? -magnitude : magnitude; };
  const T d = std::fabs(denominator), n = std::fabs(numerator);
  if (numerator != numerator) return quiet(numerator);
  if (denominator != denominator) return quiet(denominator);
  if ((d == 0 && n == 0) || (d == infinity && n == infinity)) return invalid<T>();
  if (d == 0 || n == infinity) return with_sign(infinity);
  if (d == infinity || n == 0) return with_sign(0);
  if (exponent(numerator) - exponent(denominator) < Limits<T>::underflow) return underflow<T>(w, negative);
  if (quotient != quotient) return with_sign(infinity);
  return with_sign(std::fabs(quotient));
}

// f16 has no underflow case.
float div_fixup_half(float quotient, float denominator, float numerator) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const auto with_sign = [&](float magnitude) { return negative ? -magnitude : magnitude; };
  const float d = std::fabs(denominator), n = std::fabs(numerator);
  if (numerator != numerator) return quiet(numerator);
  if (denominator != denominator) return quiet(denominator);
  if ((d == 0 && n == 0) || (d == infinity && n == infinity)) return invalid<float>();
  if (d == 0 || n == infinity) return with_sign(infinity);
  if (d == infinity || n == 0) return with_sign(0);
  return with_sign(std::fabs(quotient));
}

// CDNA3 ISA, V_TRIG_PREOP_F64: 53 bits of 2 / pi from bit 53 * segment on, moved further for large arguments.
double trig_preop(double x, std::uint32_t segment) {
  const unsigned e = static_cast<unsigned>(exponent(x));
  const unsigned shift = (segment & 31) * 53 + (e > 1077 ? e - 1077 : 0);
  const unsigned word = shift / 64, bit = shift % 64;
  const auto digits = [](unsigned k) { return k < two_over_pi.size() ? two_over_pi[k] : 0; };
  const std::uint64_t window = bit == 0 ? digits(word) : digits(word) << bit | digits(word + 1) >> (64 - bit);
  const int scale = -53 - static_cast<int>(shift) + (e >= 1968 ? 128 : 0);
  return std::ldexp(static_cast<double>(window >> 11), scale);
}

template <class T>
struct Scale {
  T operator()(const Wave&, const Instruction&, T a, T b, T c, bool, bool& out) const {
    return div_scale(a, b, c, out);
  }
};
template <class T>
struct Fmas {
  T operator()(const Wave&, const Instruction&, T a, T b, T c, bool in, bool&) const { return div_fmas(a, b, c, in); }
};

}  // namespace

void register_divide(HandlerTable& t) {
  add_carry<f32(f32, f32, f32), Carry::out>(t, "v_div_scale_f32", Scale<float>{});
  add_carry<f64(f64, f64, f64), Carry::out>(t, "v_div_scale_f64", Scale<double>{});
  add_carry<f32(f32, f32, f32), Carry::in_vcc>(t, "v_div_fmas_f32", Fmas<float>{});
  add_carry<f64(f64, f64, f64), Carry::in_vcc>(t, "v_div_fmas_f64", Fmas<double>{});
  constexpr Options own{.own_nan = true}, own_in_vop3{.keep_half = true, .own_nan = true};
  add<f32(f32, f32, f32), own>(t, "v_div_fixup_f32",
                               [](const Wave& w, float q, float d, float n) { return div_fixup(w, q, d, n); });
  add<f64(f64, f64, f64), own>(t, "v_div_fixup_f64",
                               [](const Wave& w, double q, double d, double n) { return div_fixup(w, q, d, n); });
  constexpr auto half = [](float q, float d, float n) { return div_fixup_half(q, d, n); };
  add<f16(f16, f16, f16), own_in_vop3>(t, "v_div_fixup_f16", half);
  add<f16(f16, f16, f16), own>(t, "v_div_fixup_legacy_f16", half);
  add<f64(f64, u32)>(t, "v_trig_preop_f64", [](double x, std::uint32_t segment) { return trig_preop(x, segment); });
}

}  // namespace rapt::sim::valu
