// Edge values, an independent rounding to f16, and one instruction run over many operands.
#pragma once

#include "sim/tests/support/one_wave.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace rapt::sim::test {

inline const std::vector<std::uint32_t>& edges_f32() {
  static const std::vector<std::uint32_t> values{
      0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
      0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x3f000000, 0xbf000000, 0x3effffff, 0x3fc00000,
      0x40200000, 0xc0200000, 0x40490fdb, 0x4b000000, 0x4b7fffff, 0xcb400001, 0x4effffff, 0x4f000000,
      0xcf000000, 0x4f7fffff, 0x4f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
      0xffc12345, 0x7f800001, 0xffa00007, 0x477fe000, 0x477ff000, 0x33800000, 0x387fc000, 0x1e3ce508};
  return values;
}
inline const std::vector<std::uint16_t>& edges_f16() {
  static const std::vector<std::uint16_t> values{0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400,
                                                 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x3800, 0xb800, 0x3e00, 0x4100,
                                                 0xc100, 0x6400, 0x67ff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
                                                 0xfe37, 0x7c01, 0xfd05, 0x1234, 0x5555, 0xa9c3};
  return values;
}
inline const std::vector<std::uint64_t>& edges_f64() {
  static const std::vector<std::uint64_t> values{
      0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000,
      0x3ff0000000000000, 0xbff0000000000000, 0x3fefffffffffffff, 0x3ff0000000000001, 0x3fe0000000000000,
      0x4008000000000001, 0xc1e0000000200000, 0x41dfffffffc00000, 0x41e0000000000000, 0x41efffffffe00000,
      0x41f0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
      0x7ff8000000000000, 0xfff8000000001234, 0x7ff0000000000001, 0x400921fb54442d18};
  return values;
}
inline const std::vector<std::uint32_t>& edges_u32() {
  static const std::vector<std::uint32_t> values{0,          1,          2,          3,          7,          31,
                                                 32,         33,         0xff,       0x100,      0x7fff,     0x8000,
                                                 0xffff,     0x10000,    0x7fffff,   0x800000,   0xffffff,   0x1000000,
                                                 0x12345678, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xdeadbeef,
                                                 0xfedcba98, 0xfffffffe, 0xffffffff, 0x00ff00ff, 0x01800180};
  return values;
}

inline float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline double as_double(std::uint64_t bits) { return std::bit_cast<double>(bits); }
inline std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
inline std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

// The f16's value from its fields.
inline double half_value(std::uint32_t h) {
  const int exponent = static_cast<int>(h >> 10 & 31), mantissa = static_cast<int>(h & 0x3ff);
  const double sign = (h & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

// The f16 nearest to a number, by search among all of them; ties to the even one. mode: 0 nearest, 1 up, 2 down, 3 to
// zero.
inline std::uint32_t nearest_half(long double value, unsigned mode = 0) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const long double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | 0x7c00;
  std::uint32_t below = 0, above = 0x7c00;  // consecutive magnitudes around the value; 0x7c00 counts as 65536
  const auto size = [](std::uint32_t h) { return h == 0x7c00 ? 65536.0L : static_cast<long double>(half_value(h)); };
  if (magnitude >= 65536) below = 0x7bff;
  while (above - below > 1) {
    const std::uint32_t middle = (below + above) / 2;
    (size(middle) <= magnitude ? below : above) = middle;
  }
  if (size(below) == magnitude) return sign | below;
  const bool away = mode == (sign ? 2U : 1U);
  if (mode != 0) return sign | (away ? above : below);
  const long double to_below = magnitude - size(below), to_above = size(above) - magnitude;
  return sign | (to_below < to_above || (to_below == to_above && (below & 1) == 0) ? below : above);
}

// A NaN result's bits by the hardware's rule: the first NaN among the sources, quieted, else the default one.
inline std::uint32_t nan_f32(const std::vector<std::uint32_t>& sources) {
  for (const std::uint32_t s : sources)
    if ((s & 0x7fffffff) > 0x7f800000) return s | 0x00400000;
  return 0xffc00000;
}
inline std::uint32_t nan_f16(const std::vector<std::uint32_t>& sources) {
  for (const std::uint32_t s : sources)
    if ((s & 0x7fff) > 0x7c00) return s | 0x0200;
  return 0xfe00;
}
inline std::uint64_t nan_f64(const std::vector<std::uint64_t>& sources) {
  for (const std::uint64_t s : sources)
    if ((s & 0x7fffffffffffffff) > 0x7ff0000000000000) return s | 0x0008000000000000;
  return 0xfff8000000000000;
}

// Every tuple of `count` values, in order.
template <class T>
std::vector<std::vector<T>> tuples(const std::vector<T>& values, unsigned count) {
  std::vector<std::vector<T>> result{{}};
  for (unsigned k = 0; k < count; ++k) {
    std::vector<std::vector<T>> longer;
    for (const auto& tuple : result)
      for (const T value : values) {
        longer.push_back(tuple);
        longer.back().push_back(value);
      }
    result = std::move(longer);
  }
  return result;
}

// Whether the architecture has the operation that a line starts with.
inline bool has(Arch arch, std::string_view line) {
  std::string_view mnemonic = line.substr(0, line.find(' '));
  for (const std::string_view encoding : {"_e32", "_e64", "_sdwa", "_dpp"})
    if (mnemonic.ends_with(encoding)) mnemonic.remove_suffix(encoding.size());
  const auto all = opcodes(arch);
  return std::any_of(all.begin(), all.end(), [&](const Opcode& o) { return o.name == mnemonic; });
}
// The architectures of the set that have it.
inline std::vector<Arch> archs_with(std::string_view line, ArchSet set = every_arch) {
  std::vector<Arch> archs;
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n)
    if (const auto arch = static_cast<Arch>(n); contains(set, arch) && has(arch, line)) archs.push_back(arch);
  return archs;
}

// Runs the text, or the decoded instruction, for all tuples, a tuple in each lane. Source k of a tuple is in v[10 +
// 10k], two registers for 64 bits, and the result in v0. The destination holds `before`. Returns one result per tuple.
template <class R, class T, class Line>
std::vector<R> run_all(OneWave& wave, const Line& text, const std::vector<std::vector<T>>& inputs,
                       std::uint64_t before = 0xa5a5a5a5a5a5a5a5) {
  std::vector<R> results;
  const unsigned lanes = wave.wave().lanes;
  for (std::size_t first = 0; first < inputs.size(); first += lanes) {
    const unsigned count = static_cast<unsigned>(std::min<std::size_t>(lanes, inputs.size() - first));
    for (unsigned l = 0; l < count; ++l) {
      wave.set_v64(0, l, before);
      for (unsigned k = 0; k < inputs[first + l].size(); ++k) wave.set_v64(10 + 10 * k, l, inputs[first + l][k]);
    }
    wave.run(text);
    for (unsigned l = 0; l < count; ++l) results.push_back(static_cast<R>(wave.v64(0, l)));
  }
  return results;
}

}  // namespace rapt::sim::test
