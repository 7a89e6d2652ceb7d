#include "sim/tests/support/float_bits.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace rapt::sim::test {

FormatModel format_model(const std::string& type, Arch arch) {
  const bool fnuz = arch == Arch::gfx942;
  if (type == "f16") return {16, 10, 15, true, false, false};
  if (type == "bf16") return {16, 7, 127, true, false, false};
  if (type == "fp8") return fnuz ? FormatModel{8, 3, 8, false, false, true} : FormatModel{8, 3, 7, false, true, false};
  if (type == "bf8")
    return fnuz ? FormatModel{8, 2, 16, false, false, true} : FormatModel{8, 2, 15, true, false, false};
  if (type == "fp6") return {6, 3, 1, false, false, false};
  if (type == "bf6") return {6, 2, 3, false, false, false};
  if (type == "fp4") return {4, 1, 1, false, false, false};
  throw std::runtime_error("format " + type);
}

double value_of(const FormatModel& f, std::uint32_t bits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::uint32_t sign = 1U << (f.bits - 1), magnitude = bits & (sign - 1);
  const auto exponent = static_cast<int>(magnitude >> f.mantissa), top = static_cast<int>((sign - 1) >> f.mantissa);
  const std::uint32_t fraction = magnitude & ((1U << f.mantissa) - 1);
  if (f.fnuz && bits == sign) return nan;
  if (f.top_nan && magnitude == sign - 1) return nan;
  if (f.infinity && exponent == top) return fraction != 0 ? nan : (bits & sign) != 0 ? -HUGE_VAL : HUGE_VAL;
  const double significand = (exponent == 0 ? 0.0 : 1.0) + std::ldexp(fraction, -static_cast<int>(f.mantissa));
  const double v = std::ldexp(significand, std::max(exponent, 1) - f.bias);
  return (bits & sign) != 0 ? -v : v;
}

std::uint32_t nearest_bits(const FormatModel& f, double value, bool saturate) {
  const std::uint32_t sign = 1U << (f.bits - 1);
  const std::uint32_t negative = std::signbit(value) ? sign : 0;
  std::uint32_t largest = sign - 1;
  while (!std::isfinite(value_of(f, largest))) --largest;
  const auto result = [&](std::uint32_t magnitude) { return f.fnuz && magnitude == 0 ? 0 : magnitude | negative; };
  const double size = std::fabs(value);
  // The next step after the largest value, if it existed, and the midpoint to it.
  const double step = value_of(f, largest) - value_of(f, largest - 1);
  const bool last_even = (largest & 1) == 0;
  const double limit = value_of(f, largest) + step / 2;
  if (size > limit || (size == limit && !last_even)) {
    if (saturate || !(f.infinity || f.top_nan || f.fnuz)) return result(largest);
    if (f.fnuz) return sign;
    return result(f.infinity ? largest + 1 : sign - 1);
  }
  std::uint32_t low = 0, high = largest + 1;  // value(low) <= size < value(high)
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (value_of(f, middle) <= size ? low : high) = middle;
  }
  if (low == largest) return result(largest);
  const double below = size - value_of(f, low), above = value_of(f, low + 1) - size;
  const std::uint32_t best = above < below || (above == below && (low & 1) != 0) ? low + 1 : low;
  return result(best);
}

double value_of(const std::string& type, Arch arch, std::uint64_t bits) {
  if (type == "f64") return std::bit_cast<double>(bits);
  if (type == "f32") return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (type == "xf32") return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) & 0xffffe000));
  if (type == "i32") return static_cast<std::int32_t>(bits);
  if (type == "i8") return static_cast<std::int8_t>(bits);
  if (type == "iu8") return static_cast<std::uint8_t>(bits);
  if (type == "iu4") return static_cast<double>(bits & 15);
  return value_of(format_model(type, arch), static_cast<std::uint32_t>(bits));
}

}  // namespace rapt::sim::test
