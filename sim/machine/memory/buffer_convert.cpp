#include "sim/machine/memory/buffer_format.hpp"
#include "sim/machine/operands/types.hpp"

#include <algorithm>
#include <cmath>

namespace rapt::sim {
namespace {

// gfx9's DATA_FORMAT. The names give the components from the most significant bit down.
constexpr u8 layouts[16][4] = {
    {},                // invalid
    {8},               // 8
    {16},              // 16
    {8, 8},            // 8_8
    {32},              // 32
    {16, 16},          // 16_16
    {11, 11, 10},      // 10_11_11
    {10, 11, 11},      // 11_11_10
    {2, 10, 10, 10},   // 10_10_10_2
    {10, 10, 10, 2},   // 2_10_10_10
    {8, 8, 8, 8},      // 8_8_8_8
    {32, 32},          // 32_32
    {16, 16, 16, 16},  // 16_16_16_16
    {32, 32, 32},      // 32_32_32
    {32, 32, 32, 32},  // 32_32_32_32
    {},
};

// The unified formats of gfx11 (LLVM's UfmtGFX11): consecutive numbers for each layout.
struct Run {
  u8 first, layout;
  Number numbers[7];
  u8 count;
};
using enum Number;
constexpr Run unified[] = {
    {1, 1, {unorm, snorm, uscaled, sscaled, uint, sint}, 6},
    {7, 2, {unorm, snorm, uscaled, sscaled, uint, sint, real}, 7},
    {14, 3, {unorm, snorm, uscaled, sscaled, uint, sint}, 6},
    {20, 4, {uint, sint, real}, 3},
    {23, 5, {unorm, snorm, uscaled, sscaled, uint, sint, real}, 7},
    {30, 6, {real}, 1},
    {31, 7, {real}, 1},
    {32, 8, {unorm, snorm, uint, sint}, 4},
    {36, 9, {unorm, snorm, uscaled, sscaled, uint, sint}, 6},
    {42, 10, {unorm, snorm, uscaled, sscaled, uint, sint}, 6},
    {48, 11, {uint, sint, real}, 3},
    {51, 12, {unorm, snorm, uscaled, sscaled, uint, sint, real}, 7},
    {58, 13, {uint, sint, real}, 3},
    {61, 14, {uint, sint, real}, 3},
};

BufferFormat make(unsigned layout, Number number) {
  BufferFormat f{{}, number};
  std::copy_n(layouts[layout], 4, f.bits);
  return f;
}

u32 ones(unsigned bits) { return bits == 32 ? ~0U : (1U << bits) - 1; }
std::int32_t extended(u32 value, unsigned bits) {
  return static_cast<std::int32_t>(value << (32 - bits)) >> (32 - bits);
}

bool is_integer(Number n) { return n == uint || n == sint; }

// Floats of 10 and 11 bits have no sign and an exponent of 5 bits: the upper bits of a half.
float small_float(u32 value, unsigned bits) { return valu::half_to_float(value << (15 - bits)); }
u32 to_small_float(float value, unsigned bits) {
  if (!(value > 0)) return value == value ? 0 : ones(bits);
  // To nearest even at the shorter mantissa: rounding to half first would round twice.
  const unsigned mantissa = bits - 5;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int grid = std::max(exponent - 1, -14) - static_cast<int>(mantissa);
  const float rounded = std::ldexp(std::nearbyint(std::ldexp(value, -grid)), grid);
  return valu::float_to_half(std::min(rounded, std::ldexp(2.0F, 16)), valu::Round::nearest) >> (15 - bits);
}

float to_float(u32 raw, unsigned bits, Number number) {
  const auto value = static_cast<float>(raw), signed_value = static_cast<float>(extended(raw, bits));
  switch (number) {
    case unorm: return value / static_cast<float>(ones(bits));
    case snorm: return std::max(signed_value / static_cast<float>(ones(bits - 1)), -1.0F);
    case uscaled: return value;
    case sscaled: return signed_value;
    case real:
      return bits == 32 ? std::bit_cast<float>(raw) : bits == 16 ? valu::half_to_float(raw) : small_float(raw, bits);
    default: return 0;
  }
}

u32 from_float(float value, unsigned bits, Number number) {
  const auto clamped = [value](float low, float high) { return value == value ? std::clamp(value, low, high) : 0.0F; };
  const auto rounded = [](double v) { return static_cast<u32>(static_cast<std::int64_t>(std::nearbyint(v))); };
  const double top = ones(bits), half = ones(bits - 1);
  switch (number) {
    case unorm: return rounded(clamped(0, 1) * top);
    case snorm: return rounded(clamped(-1, 1) * half) & ones(bits);
    case uscaled: return rounded(std::trunc(std::clamp<double>(value == value ? value : 0, 0, top)));
    case sscaled:
      return rounded(std::trunc(std::clamp<double>(value == value ? value : 0, -half - 1, half))) & ones(bits);
    case real:
      if (bits == 32) return std::bit_cast<u32>(value);
      return bits == 16 ? valu::float_to_half(value, valu::Round::nearest) : to_small_float(value, bits);
    default: return 0;
  }
}

// Integers are clamped to the component's range.
u32 saturated(u32 value, unsigned bits, Number number) {
  if (bits == 32) return value;
  if (number == uint) return std::min(value, ones(bits));
  const auto half = static_cast<std::int32_t>(ones(bits - 1));
  return static_cast<u32>(std::clamp(static_cast<std::int32_t>(value), -half - 1, half)) & ones(bits);
}

}  // namespace

BufferFormat buffer_format(bool gfx9, unsigned data_format, unsigned number_format) {
  if (gfx9) return make(data_format & 15, static_cast<Number>(number_format & 7));
  for (const Run& run : unified)
    if (data_format >= run.first && data_format < run.first + run.count)
      return make(run.layout, run.numbers[data_format - run.first]);
  return make(0, uint);
}

std::array<u32, 4> unpack(const BufferFormat& format, const unsigned char* element, bool d16) {
  std::array<u32, 4> values{};
  unsigned at = 0;
  for (unsigned c = 0; c < format.components(); ++c) {
    const unsigned bits = format.bits[c];
    u64 window = 0;
    std::memcpy(&window, element + at / 8, std::min(8U, format.bytes() - at / 8));
    const u32 raw = static_cast<u32>(window >> at % 8) & ones(bits);
    at += bits;
    if (format.number == uint) values[c] = raw;
    else if (format.number == sint) values[c] = static_cast<u32>(extended(raw, bits));
    else if (format.number == real && bits == (d16 ? 16 : 32)) values[c] = raw;  // a NaN stays as it is
    else if (d16) values[c] = valu::float_to_half(to_float(raw, bits, format.number), valu::Round::nearest);
    else values[c] = std::bit_cast<u32>(to_float(raw, bits, format.number));
    if (d16) values[c] &= 0xffff;
  }
  return values;
}

void pack(const BufferFormat& format, const std::array<u32, 4>& values, bool d16, unsigned char* element) {
  unsigned char bytes[24] = {};
  unsigned at = 0;
  for (unsigned c = 0; c < format.components(); ++c) {
    const unsigned bits = format.bits[c];
    u32 value = values[c];
    if (d16 && format.number == sint) value = static_cast<u32>(extended(value & 0xffff, 16));
    u32 raw = 0;
    if (is_integer(format.number)) raw = saturated(value, bits, format.number);
    else if (format.number == real && bits == (d16 ? 16 : 32)) raw = value;
    else raw = from_float(d16 ? valu::half_to_float(value & 0xffff) : std::bit_cast<float>(value), bits, format.number);
    u64 window = 0;
    std::memcpy(&window, bytes + at / 8, 8);
    window |= u64{raw} << at % 8;
    std::memcpy(bytes + at / 8, &window, 8);
    at += bits;
  }
  std::memcpy(element, bytes, format.bytes());
}

}  // namespace rapt::sim
