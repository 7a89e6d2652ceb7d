#include "support/format.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace test {

namespace {

struct Format {
  int digits, least;  // significant bits; log2 of the smallest subnormal
  double largest;
};
constexpr Format kHalf = {11, -24, 65504.0};
constexpr Format kBrain = {8, -133, 0x1.FEp127};

const Format& format16(rapt_dtype dtype) { return dtype.code == RAPT_BFLOAT ? kBrain : kHalf; }

// sign, exponent, fraction -> bits of a 16-bit format
uint16_t bits16(double value, const Format& f) {
  const int fraction_bits = f.digits - 1, exponent_bits = 15 - fraction_bits;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t top = static_cast<uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | top | 1 << (fraction_bits - 1));
  const double magnitude = std::fabs(round_to_format(value, f.digits, f.least, f.largest));
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | top);
  if (magnitude == 0) return sign;
  const int least_normal = f.least + fraction_bits;  // log2 of the smallest normal number
  const int exponent = std::max(std::ilogb(magnitude), least_normal);
  const int units = static_cast<int>(std::ldexp(magnitude, fraction_bits - exponent));
  // A normal number's leading one carries into the exponent field, which is why the field starts one lower.
  return static_cast<uint16_t>(sign | (((exponent - least_normal) << fraction_bits) + units));
}

double value16(uint16_t bits, const Format& f) {
  const int fraction_bits = f.digits - 1, exponent_bits = 15 - fraction_bits;
  const int field = (bits & 0x7FFF) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (field == (1 << exponent_bits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (field == 0) return sign * std::ldexp(fraction, f.least);
  return sign * std::ldexp(fraction + (1 << fraction_bits), f.least + field - 1);
}

// All values of a 16-bit format: tests decode millions.
std::vector<double> table_of(const Format& f) {
  std::vector<double> table(65536);
  for (uint32_t bits = 0; bits < 65536; ++bits) table[bits] = value16(static_cast<uint16_t>(bits), f);
  return table;
}

double lookup16(uint16_t bits, rapt_dtype dtype) {
  static const std::vector<double> half = table_of(kHalf), brain = table_of(kBrain);
  return (dtype.code == RAPT_BFLOAT ? brain : half)[bits];
}

template <class T>
T read(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void write(unsigned char* bytes, T value) {
  std::memcpy(bytes, &value, sizeof value);
}

}  // namespace

double round_to_format(double value, int digits, int least, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  const int unit = std::max(std::ilogb(value) - digits + 1, least);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::fabs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

double decode(const unsigned char* bytes, rapt_dtype dtype) {
  if (dtype.bits == 16) return lookup16(read<uint16_t>(bytes), dtype);
  if (dtype.bits == 64) return read<double>(bytes);
  if (dtype.bits == 8) return bytes[0];
  if (dtype.code == RAPT_INT) return read<int32_t>(bytes);
  return read<float>(bytes);
}

void encode(double value, unsigned char* bytes, rapt_dtype dtype) {
  if (dtype.bits == 16) write(bytes, bits16(value, format16(dtype)));
  else if (dtype.bits == 64) write(bytes, value);
  else if (dtype.bits == 8) bytes[0] = static_cast<unsigned char>(value);
  else if (dtype.code == RAPT_INT) write(bytes, static_cast<int32_t>(value));
  else write(bytes, static_cast<float>(value));
}

}  // namespace test
