// What a VALU operand holds: one tag per type says how a lane's bits become the value that a lambda sees.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace rapt::sim::valu {

// Floating-point formats, by their fields.
struct FloatFormat {
  unsigned bits, mantissa;
  constexpr std::uint64_t sign() const { return std::uint64_t{1} << (bits - 1); }
  constexpr std::uint64_t mantissa_mask() const { return (std::uint64_t{1} << mantissa) - 1; }
  constexpr std::uint64_t infinity() const { return (sign() - 1) & ~mantissa_mask(); }
  constexpr std::uint64_t quiet() const { return std::uint64_t{1} << (mantissa - 1); }
  // The result of an invalid operation: negative, as in the ISA documents' examples (log2 of -1 is 0xffc00000).
  constexpr std::uint64_t default_nan() const { return sign() | infinity() | quiet(); }
  constexpr bool is_nan(std::uint64_t v) const { return (v & (sign() - 1)) > infinity(); }
  constexpr bool is_signalling(std::uint64_t v) const { return is_nan(v) && (v & quiet()) == 0; }
  constexpr bool is_denormal(std::uint64_t v) const { return (v & infinity()) == 0 && (v & mantissa_mask()) != 0; }
};
inline constexpr FloatFormat format_f16{16, 10}, format_bf16{16, 7}, format_f32{32, 23}, format_f64{64, 52};

// NaNs as lambdas see them, in float and double (an f16's quiet bit becomes the float's).
template <class T>
T quiet(T x) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr auto bit = static_cast<Bits>((sizeof(T) == 8 ? format_f64 : format_f32).quiet());
  return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(x) | bit));
}
template <class T>
bool is_signalling(T x) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr auto bit = static_cast<Bits>((sizeof(T) == 8 ? format_f64 : format_f32).quiet());
  return (x != x) & ((std::bit_cast<Bits>(x) & bit) == 0);
}

// The values of the MODE register's rounding fields.
enum class Round : std::uint8_t { nearest, up, down, zero };
struct Rounding {
  constexpr Rounding(Round mode_, bool saturate_ = false)
      : mode(mode_), saturate(saturate_) {}  // NOLINT: a Round is one
  Round mode;
  bool saturate;  // MODE.FP16_OVFL: a finite value never becomes an f16 infinity
};

// Exact; a NaN keeps its payload and stays signalling or quiet.
inline float half_to_float(std::uint32_t h) {
  const std::uint32_t magnitude = h & 0x7fff;
  const float denormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  std::uint32_t bits = (magnitude << 13) + (112U << 23);  // 112: the difference of the biases
  bits = magnitude < 0x400 ? std::bit_cast<std::uint32_t>(denormal) : bits;
  bits = magnitude >= 0x7c00 ? magnitude << 13 | 0x7f800000 : bits;
  return std::bit_cast<float>(bits | (h & 0x8000) << 16);
}

inline float bf16_to_float(std::uint32_t h) { return std::bit_cast<float>(h << 16); }

namespace detail {
// value / 2^shift, rounded; value < 2^31, 1 <= shift < 31.
inline std::uint32_t shift_rounded(std::uint32_t value, std::uint32_t shift, bool negative, Round round) {
  const std::uint32_t below = (1U << shift) - 1;
  const std::uint32_t to_nearest = (below >> 1) + ((value >> shift) & 1);
  const bool away = negative ? round == Round::down : round == Round::up;
  return (value + (round == Round::nearest ? to_nearest : away ? below : 0)) >> shift;
}
}  // namespace detail

// Independent of the host's rounding mode. A NaN keeps the payload's upper bits, and its kind as far as these allow.
inline std::uint32_t float_to_half(float x, Rounding rounding) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & 0x7fffffff, exponent = magnitude >> 23;
  const bool negative = (bits >> 31) != 0, tiny = exponent < 113;  // below 2^-14
  const std::uint32_t fraction = (magnitude & 0x7fffff) | (exponent != 0 ? 0x800000 : 0);
  const std::uint32_t value = tiny ? fraction : magnitude - (112U << 23);
  const std::uint32_t shift = tiny ? (exponent < 100 ? 26 : 126 - exponent) : 13;
  std::uint32_t half = detail::shift_rounded(value, shift, negative, rounding.mode);
  const bool away = rounding.mode == (negative ? Round::down : Round::up);
  const bool nearest = rounding.mode == Round::nearest, to_infinity = (nearest | away) & (rounding.saturate == false);
  half = half >= 0x7c00 ? (to_infinity | (magnitude == 0x7f800000) ? 0x7c00 : 0x7bff) : half;
  const std::uint32_t payload = (magnitude >> 13) & 0x3ff;
  half = magnitude > 0x7f800000 ? 0x7c00 | (payload != 0 ? payload : 0x200) : half;
  return half | ((bits >> 16) & 0x8000);
}

inline std::uint32_t float_to_bf16(float x, Rounding rounding) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & 0x7fffffff;
  const bool negative = (bits >> 31) != 0;
  std::uint32_t result = detail::shift_rounded(magnitude, 16, negative, rounding.mode);
  const bool to_infinity = rounding.mode == Round::nearest || rounding.mode == (negative ? Round::down : Round::up);
  result = result >= 0x7f80 && magnitude < 0x7f800000 && !to_infinity ? 0x7f7f : result;
  const std::uint32_t payload = (magnitude >> 16) & 0x7f;
  result = magnitude > 0x7f800000 ? 0x7f80 | (payload != 0 ? payload : 0x40) : result;
  return result | ((bits >> 16) & 0x8000);
}

// To the nearest even integer, whatever the host's rounding mode is, in a form that compilers can vectorise.
template <class T>
T round_even(T x) {
  const T whole = std::trunc(x), rest = std::fabs(x - whole), half = whole * T{0.5};
  const bool odd = half != std::trunc(half);
  const bool up = (rest > T{0.5}) | ((rest == T{0.5}) & odd);
  return std::copysign(std::fabs(whole) + (up ? T{1} : T{0}), x);
}

// The float for which further rounding to f16 or bf16 gives the same as for the double (rounding to odd).
inline float narrow_to_odd(double d) {
  const float f = static_cast<float>(d);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
  const double back = static_cast<double>(f);
  bits = std::fabs(back) > std::fabs(d) ? bits - 1 : bits;
  bits |= (back != d) & (d == d) ? 1U : 0U;
  return std::bit_cast<float>(bits);
}

// The tags. `Value` is what a lambda takes; `decode` makes it from the operand's bits, `encode` the bits from a result.
// Output modifiers and flushing apply to floating-point results, so bits that are only moved are b32, not f32.
struct f32 {
  using Value = float;
  static constexpr FloatFormat format = format_f32;
  static constexpr unsigned bits = 32;
  static constexpr bool is_float = true;
  static float decode(std::uint32_t v) { return std::bit_cast<float>(v); }
  static std::uint32_t encode(float v, Rounding) { return std::bit_cast<std::uint32_t>(v); }
};
struct f64 {
  using Value = double;
  static constexpr FloatFormat format = format_f64;
  static constexpr unsigned bits = 64;
  static constexpr bool is_float = true;
  static double decode(std::uint64_t v) { return std::bit_cast<double>(v); }
  static std::uint64_t encode(double v, Rounding) { return std::bit_cast<std::uint64_t>(v); }
};
struct f16 {  // lambdas see it as float and may return double if float would round twice
  using Value = float;
  static constexpr FloatFormat format = format_f16;
  static constexpr unsigned bits = 16;
  static constexpr bool is_float = true;
  static float decode(std::uint32_t v) { return half_to_float(v); }
  static std::uint32_t encode(float v, Rounding rounding) { return float_to_half(v, rounding); }
  static std::uint32_t encode(double v, Rounding rounding) { return float_to_half(narrow_to_odd(v), rounding); }
};
struct bf16 {
  using Value = float;
  static constexpr FloatFormat format = format_bf16;
  static constexpr unsigned bits = 16;
  static constexpr bool is_float = true;
  static float decode(std::uint32_t v) { return bf16_to_float(v & 0xffff); }
  static std::uint32_t encode(float v, Rounding rounding) { return float_to_bf16(v, rounding); }
  static std::uint32_t encode(double v, Rounding rounding) { return float_to_bf16(narrow_to_odd(v), rounding); }
};

// Integers. A result of a wider type is saturated if the instruction has CLAMP, else truncated.
template <class T>
struct Integer {
  using Value = T;
  static constexpr unsigned bits = 8 * sizeof(T);
  static constexpr bool is_float = false;
  using Bits = std::conditional_t<bits == 64, std::uint64_t, std::uint32_t>;
  static T decode(Bits v) { return static_cast<T>(v); }
  template <class R>
  static Bits encode(R v, Rounding) {
    return static_cast<std::make_unsigned_t<T>>(v);
  }
  template <class R>
  static Bits saturate(R v) {
    constexpr R low = std::is_signed_v<R> ? static_cast<R>(std::numeric_limits<T>::min()) : R{0};
    constexpr R high = static_cast<R>(std::numeric_limits<T>::max());
    return static_cast<std::make_unsigned_t<T>>(v < low ? low : v > high ? high : v);
  }
};
using u16 = Integer<std::uint16_t>;
using i16 = Integer<std::int16_t>;
using u32 = Integer<std::uint32_t>;
using i32 = Integer<std::int32_t>;
using u64 = Integer<std::uint64_t>;
using i64 = Integer<std::int64_t>;
using b16 = u16;
using b32 = u32;
using b64 = u64;

// What code that is compiled once needs to know of a type.
struct TypeInfo {
  std::uint8_t bits;
  bool is_float;
  std::uint8_t mantissa;
  constexpr FloatFormat format() const { return {bits, mantissa}; }
};
template <class T>
constexpr TypeInfo info() {
  if constexpr (T::is_float) return {T::bits, true, T::format.mantissa};
  else return {T::bits, false, 0};
}

}  // namespace rapt::sim::valu
