#include "sim/validate/launch/numbers.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace rapt::sim::validate {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)

 private:
  std::uint64_t state_;
};

template <typename T>
T load(const std::byte* data, std::size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof value, sizeof value);
  return value;
}

double e4m3(unsigned bits, int bias) {
  const unsigned exponent = bits >> 3 & 15, fraction = bits & 7;
  const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias - 3)
                                    : std::ldexp(8 + fraction, static_cast<int>(exponent) - bias - 3);
  return bits & 0x80 ? -size : size;
}

double e2m1(unsigned bits) {
  static constexpr double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return bits & 8 ? -sizes[bits & 7] : sizes[bits & 7];
}

// A random byte of each 8-bit format.
std::byte random_byte(Number number, std::uint64_t bits) {
  const auto low = static_cast<unsigned>(bits & 0xff);
  switch (number) {
    case Number::fp8:
    case Number::fp8_fnuz: return std::byte((low & 0x87) | (4 + (bits >> 8) % 6) << 3);  // up to 4, without NaN
    case Number::int8: return std::byte(low == 0x80 ? 0 : low);  // -127 to 127, as quantisation makes
    case Number::e8m0: return std::byte(125 + (bits >> 8) % 5);  // 1/4 to 4
    default: return std::byte(low);
  }
}

}  // namespace

std::size_t bytes_of(Number number, std::size_t count) {
  switch (number) {
    case Number::f32: return count * 4;
    case Number::bf16: return count * 2;
    case Number::fp4: return (count + 1) / 2;
    default: return count;
  }
}

double value_at(Number number, const std::byte* data, std::size_t index) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  switch (number) {
    case Number::f32: return load<float>(data, index);
    case Number::bf16: return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(data, index)} << 16);
    case Number::int8: return load<std::int8_t>(data, index);
    case Number::fp4: return e2m1(load<std::uint8_t>(data, index / 2) >> (index % 2 * 4) & 15);
    case Number::fp8: {
      const unsigned bits = load<std::uint8_t>(data, index);
      return (bits & 0x7f) == 0x7f ? nan : e4m3(bits, 7);
    }
    case Number::fp8_fnuz: {
      const unsigned bits = load<std::uint8_t>(data, index);
      return bits == 0x80 ? nan : e4m3(bits, 8);
    }
    case Number::e8m0: {
      const unsigned bits = load<std::uint8_t>(data, index);
      return bits == 0xff ? nan : std::ldexp(1.0, static_cast<int>(bits) - 127);
    }
  }
  return nan;
}

void fill_random(Number number, std::span<std::byte> bytes, std::uint64_t seed) {
  Random random(seed);
  if (number == Number::f32) {
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      const auto value = static_cast<float>(0.25 + 0.75 * random.unit());
      std::memcpy(&bytes[at], &value, 4);
    }
  } else if (number == Number::bf16) {
    for (std::size_t at = 0; at + 2 <= bytes.size(); at += 2) {
      const auto value = static_cast<float>(2 * random.unit() - 1);
      const auto high = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
      std::memcpy(&bytes[at], &high, 2);
    }
  } else {
    for (std::byte& byte : bytes) byte = random_byte(number, random.next() >> 16);
  }
}

}  // namespace rapt::sim::validate
